import { hash } from 'node:crypto';
import { ConnectError } from '@connectrpc/connect';
import type { CallOptions, Client } from '@connectrpc/connect';
import { LRUCache } from 'lru-cache';
import type { ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { ErrorInfoSchema } from '../gen/google/rpc/error_details_pb.js';
import { reasonOf } from '../platform/rpc/rpc-error.ts';

/** What core says of a key. */
export type KeyVerdict =
  | {
      readonly kind: 'accepted';
      readonly merchantId: string;
      readonly apiKeyId: string;
      /** What the merchant's terms grant the key; 0 for what every key is granted. */
      readonly requestsPerSecond: number;
    }
  | { readonly kind: 'refused'; readonly reason: 'INVALID_API_KEY' }
  | {
      readonly kind: 'barred';
      readonly reason: 'MERCHANT_SUSPENDED' | 'PRODUCTION_NOT_ACTIVATED';
      /** Whose key it is; a core of an older version does not say. */
      readonly merchantId: string | undefined;
      readonly apiKeyId: string | undefined;
    };

/** Says whose key it is, at once when it is known. @throws ConnectError when core gives no definite answer; that is never remembered. */
export type AuthenticateKey = (apiKey: string, options: CallOptions) => KeyVerdict | Promise<KeyVerdict>;

export interface AuthenticatorOptions {
  readonly apiKeys: Client<typeof ApiKeyService>;
  readonly environment: Environment;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/** A revoked key must be dead within 5 s, of which core's own caches may use 2. */
const acceptedForMs = 3_000;
/** A key that was just issued, or a merchant that was just resumed, should work soon. */
const refusedForMs = 1_000;
const maxRemembered = 10_000;

interface Question {
  readonly apiKey: string;
  readonly options: CallOptions;
}

/**
 * Asks core about keys and remembers the answers for a moment, by the key's SHA-256: a heap dump holds no keys.
 * Requests that come with the same key while the answer is on its way share one call.
 */
export function createKeyAuthenticator({
  apiKeys,
  environment,
  nowMs,
}: AuthenticatorOptions): AuthenticateKey {
  const verdicts = new LRUCache<string, KeyVerdict, Question>({
    max: maxRemembered,
    ttl: acceptedForMs,
    ttlResolution: 0,
    perf: { now: nowMs },
    // A call that is shared must not end for all because one entry was pushed out meanwhile.
    ignoreFetchAbort: true,
    allowStaleOnFetchAbort: false,
    fetchMethod: async (_name, _stale, { options, context }) => {
      const askedAt = nowMs();
      const verdict = await ask(context);
      const lifetimeMs = verdict.kind === 'accepted' ? acceptedForMs : refusedForMs;
      // Counted from the question: core may have given the answer at any moment since.
      options.ttl = Math.max(1, lifetimeMs - (nowMs() - askedAt));
      return verdict;
    },
  });

  async function ask({ apiKey, options }: Question): Promise<KeyVerdict> {
    try {
      const answer = await apiKeys.authenticateApiKey({ apiKey, environment }, options);
      const { merchantId, apiKeyId, requestsPerSecond } = answer;
      return { kind: 'accepted', merchantId, apiKeyId, requestsPerSecond };
    } catch (error) {
      const verdict = verdictOf(error);
      if (verdict === undefined) throw error;
      return verdict;
    }
  }

  return (apiKey, options) => {
    const name = hash('sha256', apiKey, 'base64');
    return verdicts.get(name) ?? verdicts.forceFetch(name, { context: { apiKey, options } });
  };
}

function verdictOf(error: unknown): KeyVerdict | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const reason = reasonOf(error);
  switch (reason) {
    case 'INVALID_API_KEY':
      return { kind: 'refused', reason };
    case 'MERCHANT_SUSPENDED':
    case 'PRODUCTION_NOT_ACTIVATED': {
      const said = error.findDetails(ErrorInfoSchema)[0]?.metadata;
      return { kind: 'barred', reason, merchantId: said?.['merchant_id'], apiKeyId: said?.['api_key_id'] };
    }
    default:
      return undefined;
  }
}
