import { requestedWaitMs } from './requested-wait.ts';
import type { NotSentWhy, Unknown } from './outcomes.ts';
import type { JsonReading } from './read-json.ts';
import { readJson } from './read-json.ts';
import type { WalletReply } from './wallet-http.ts';

/** The answer of a wallet that speaks JSON, read as far as possible without knowing its request. */
export type JsonReply = JsonAnswer | NotSent | Unknown;

/** A request that could not be sent. */
export interface NotSent {
  readonly kind: 'not_sent';
  readonly why: NotSentWhy;
  readonly detail: string;
  /** The wait that the wallet requested in answer to the request for an access token. */
  readonly retryAfterMs?: number;
}

export interface JsonAnswer {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonReading;
  /** Whether the body has no bytes, which some answers must have. */
  readonly isEmpty: boolean;
  readonly retryAfterMs?: number;
}

export function readReply(reply: WalletReply, now: Date): JsonReply {
  if (reply.kind === 'lost') return { kind: 'unknown', why: reply.why, detail: reply.detail };
  if (reply.kind === 'not_sent') return reply;
  const wait = requestedWaitMs(reply.headers, now);
  return {
    kind: 'answered',
    status: reply.status,
    headers: reply.headers,
    body: readJson(reply),
    isEmpty: reply.body.length === 0,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  };
}

/** The outcome of a query that could not be sent. */
export const unasked = ({ why, ...rest }: NotSent): Unknown => ({
  ...rest,
  kind: 'unknown',
  why: why === 'unauthenticated' ? why : 'not_asked',
});
