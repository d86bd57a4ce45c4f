import { hash } from 'node:crypto';
import { ConnectError } from '@connectrpc/connect';
import type { CallOptions, Client } from '@connectrpc/connect';
import { LRUCache } from 'lru-cache';
import type { ApiKeyScope, ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { ErrorInfoSchema } from '../gen/google/rpc/error_details_pb.js';
import { reasonOf } from '../platform/rpc/rpc-error.ts';
import { runInSpan } from '../platform/tracing/span.ts';
import type { Span } from '../platform/tracing/span.ts';
import { atMost } from '../platform/at-most.ts';

/** Core's answer about a key. */
export type KeyVerdict =
  | {
      readonly kind: 'accepted';
      readonly merchantId: string;
      readonly apiKeyId: string;
      /** The limit in the merchant's terms; 0 for the standard limit. */
      readonly requestsPerSecond: number;
      readonly scopes: readonly ApiKeyScope[];
      /** Answers about ended orders may be reused as long as it is the same; empty if they may not. */
      readonly endedOrdersVersion: string;
    }
  | { readonly kind: 'refused'; readonly reason: 'INVALID_API_KEY' }
  | {
      readonly kind: 'barred';
      readonly reason: 'MERCHANT_SUSPENDED' | 'PRODUCTION_NOT_ACTIVATED';
      /** The merchant of the key; undefined from an older core. */
      readonly merchantId: string | undefined;
      readonly apiKeyId: string | undefined;
    };

/**
 * Identifies the merchant of a key, from the cache if possible, or by a call within `span`. `beforeUnknownKey` is called before core is
 * asked about a key that it did not accept in the last hour. If it throws, core is not asked.
 * @throws ConnectError without a definite answer, which is never cached.
 */
export type AuthenticateKey = (
  apiKey: string,
  options: CallOptions,
  span: Span | undefined,
  beforeUnknownKey: () => Promise<void>,
) => KeyVerdict | Promise<KeyVerdict>;

export interface AuthenticatorOptions {
  readonly apiKeys: Client<typeof ApiKeyService>;
  readonly environment: Environment;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/**
 * A revoked key must be refused within 5 s, of which core's own caches may use 2. The three seconds begin
 * when core is called, so they are also the deadline of that call. While every check takes core longer, all requests get 500.
 */
export const acceptedForMs = 3_000;
/** Short, so that a new key or a resumed merchant works soon. */
const refusedForMs = 1_000;
const maxRemembered = 10_000;
/** How long an accepted key stays known, so that it works while others behind its address try keys. */
const knownForMs = 3_600_000;

interface Question {
  readonly apiKey: string;
  readonly options: CallOptions;
}

/**
 * Asks core about keys and caches the answers briefly, by the key's SHA-256, so that a heap dump contains no keys. Concurrent
 * requests with the same key share one call.
 */
export function createKeyAuthenticator({
  apiKeys,
  environment,
  nowMs,
}: AuthenticatorOptions): AuthenticateKey {
  const known = new LRUCache<string, true>({
    ...atMost(maxRemembered),
    ttl: knownForMs,
    perf: { now: nowMs },
  });
  const verdicts = new LRUCache<string, KeyVerdict, Question>({
    ...atMost(maxRemembered),
    ttl: acceptedForMs,
    ttlResolution: 0,
    perf: { now: nowMs },
    // A shared call must not be aborted when its cache entry is evicted.
    ignoreFetchAbort: true,
    allowStaleOnFetchAbort: false,
    fetchMethod: async (name, _stale, { options, context }) => {
      const requestedAt = nowMs();
      const verdict = await ask(context);
      if (verdict.kind === 'accepted') known.set(name, true);
      const lifetimeMs = verdict.kind === 'accepted' ? acceptedForMs : refusedForMs;
      // The lifetime starts at the call, because core may have answered at any moment since.
      options.ttl = Math.max(1, lifetimeMs - (nowMs() - requestedAt));
      return verdict;
    },
  });

  async function ask({ apiKey, options }: Question): Promise<KeyVerdict> {
    try {
      const answer = await apiKeys.authenticateApiKey({ apiKey, environment }, options);
      const { merchantId, apiKeyId, requestsPerSecond, scopes, endedOrdersVersion } = answer;
      return { kind: 'accepted', merchantId, apiKeyId, requestsPerSecond, scopes, endedOrdersVersion };
    } catch (error) {
      const verdict = verdictOf(error);
      if (verdict === undefined) throw error;
      return verdict;
    }
  }

  return (apiKey, options, span, beforeUnknownKey) => {
    const name = hash('sha256', apiKey, 'base64');
    const cached = verdicts.get(name);
    if (cached !== undefined) return cached;
    const fetch = () => runInSpan(span, () => verdicts.forceFetch(name, { context: { apiKey, options } }));
    return known.has(name) ? fetch() : beforeUnknownKey().then(fetch);
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
      const metadata = error.findDetails(ErrorInfoSchema)[0]?.metadata;
      return {
        kind: 'barred',
        reason,
        merchantId: metadata?.['merchant_id'],
        apiKeyId: metadata?.['api_key_id'],
      };
    }
    default:
      return undefined;
  }
}
