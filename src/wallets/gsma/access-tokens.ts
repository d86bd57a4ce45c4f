import pTimeout from 'p-timeout';
import { Value } from '@sinclair/typebox/value';
import type { NotSentWhy } from '../connector/outcomes.ts';
import type { RawExchange } from '../connector/raw-exchange.ts';
import type { WalletHttp, WalletReply } from '../connector/wallet-http.ts';
import { readJson } from './read-json.ts';
import { tokenAnswerSchema } from './messages.ts';
import type { GsmaSettings } from './gsma-settings.ts';
import { tokenUrl } from './gsma-settings.ts';

/** An access token, or why there is none. The exchanges are empty when the token was cached. */
export type TokenResult = { readonly exchanges: readonly RawExchange[] } & (
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none'; readonly why: NotSentWhy; readonly detail: string }
);

const maxTokenAnswerBytes = 64 * 1024;

/** The lifetime of a token without `expires_in`, which RFC 6749, section 5.1 only recommends. */
const assumedLifetimeSeconds = 300;

/** How long before its expiry a token is no longer used, so that it is still valid when the request arrives. */
const longestMarginMs = 30_000;

/**
 * The access token of one wallet, by the client credentials grant (RFC 6749, section 4.4). It is fetched at first use, once
 * for all waiting callers, and again shortly before it expires.
 */
export class AccessTokens {
  readonly #settings: GsmaSettings;
  readonly #http: WalletHttp;
  readonly #now: () => Date;
  #cached: { readonly token: string; readonly staleAtMs: number } | undefined;
  #underWay: Promise<TokenResult> | undefined;

  constructor(settings: GsmaSettings, http: WalletHttp, now: () => Date) {
    this.#settings = settings;
    this.#http = http;
    this.#now = now;
  }

  /** The current token. `signal` ends only the wait of this caller, not the fetch for others. */
  async get(signal: AbortSignal): Promise<TokenResult> {
    if (this.#cached !== undefined && this.#now().getTime() < this.#cached.staleAtMs) {
      return { kind: 'token', token: this.#cached.token, exchanges: [] };
    }
    this.#underWay ??= this.#fetch().finally(() => {
      this.#underWay = undefined;
    });
    return untilAborted(this.#underWay, signal);
  }

  /** Drops a refused token, unless a newer one was fetched since. */
  drop(token: string): void {
    if (this.#cached?.token === token) this.#cached = undefined;
  }

  async #fetch(): Promise<TokenResult> {
    const { clientId, clientSecret, apiKey, timeouts } = this.#settings;
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    const { reply, exchange } = await this.#http.exchange(
      {
        purpose: 'token',
        method: 'POST',
        url: tokenUrl(this.#settings),
        headers: {
          accept: 'application/json',
          authorization: `Basic ${basic}`,
          'content-type': 'application/x-www-form-urlencoded',
          'x-api-key': apiKey,
          'x-date': this.#now().toISOString(),
        },
        body: 'grant_type=client_credentials',
        maxAnswerBytes: maxTokenAnswerBytes,
        secrets: [clientSecret, apiKey, basic],
      },
      AbortSignal.timeout(timeouts.callMs),
    );
    const answer = readTokenAnswer(reply);
    if (typeof answer === 'string') {
      return { kind: 'none', why: 'no_token', detail: answer, exchanges: [exchange] };
    }
    this.#cached = {
      token: answer.token,
      staleAtMs: exchange.startedAt.getTime() + usableMs(answer.seconds),
    };
    return { kind: 'token', token: answer.token, exchanges: [exchange] };
  }
}

/** The token and its lifetime, or why there is none. */
function readTokenAnswer(reply: WalletReply): { token: string; seconds: number } | string {
  if (reply.kind !== 'answered') return `no access token: ${reply.detail}`;
  if (reply.status !== 200 && reply.status !== 201) {
    return `no access token: the wallet answered ${reply.status}; check the client id, its secret and the API key`;
  }
  const read = readJson(reply);
  if (!read.ok) return `no access token: ${read.problem}`;
  if (!Value.Check(tokenAnswerSchema, read.json)) {
    return 'no access token: the answer is not that of a token endpoint (RFC 6749, section 5.1)';
  }
  const { access_token: token, expires_in: lifetime } = read.json;
  return { token, seconds: lifetime === undefined ? assumedLifetimeSeconds : Number(lifetime) };
}

function usableMs(lifetimeSeconds: number): number {
  const lifetimeMs = lifetimeSeconds * 1000;
  return lifetimeMs - Math.min(longestMarginMs, lifetimeMs / 4);
}

async function untilAborted(result: Promise<TokenResult>, signal: AbortSignal): Promise<TokenResult> {
  try {
    return await pTimeout(result, { milliseconds: Infinity, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    return {
      kind: 'none',
      why: isTimeout(signal.reason) ? 'timeout' : 'aborted',
      detail: 'abandoned while waiting for an access token',
      exchanges: [],
    };
  }
}

/** The abort reason of AbortSignal.timeout() (WHATWG DOM, section 3.2). */
const isTimeout = (reason: unknown): boolean =>
  typeof reason === 'object' && reason !== null && 'name' in reason && reason.name === 'TimeoutError';
