import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../platform/http/client-address.ts';

export interface RateLimitSettings {
  /** Requests per second and API key; 0 sets no limit. */
  readonly perKeyPerSecond: number;
  /**
   * Failed keys per minute and address. Further failures get 429 until the minute is over. 0 sets no limit.
   */
  readonly failedKeysPerMinute: number;
}

/** Each function gives undefined when the request may continue, otherwise the whole seconds until a retry. */
export interface RateLimits {
  /** `perSecond`: the limit of this key, or 0 for the standard limit. */
  readonly countRequest: (apiKeyId: string, perSecond: number) => Promise<number | undefined>;
  readonly countFailedKey: (ip: string) => Promise<number | undefined>;
}

const maxOwnRates = 1_000;

/** Counts in the memory of this process: with several facades behind a balancer, each allows its own share. */
export function createRateLimits(settings: RateLimitSettings): RateLimits {
  const { perKeyPerSecond } = settings;
  const requests = new RateLimiterMemory({ points: perKeyPerSecond, duration: 1 });
  // Few merchants have their own limit, and many of these share the same one.
  const ownRates = new LRUCache<number, RateLimiterMemory>({
    max: maxOwnRates,
    memoMethod: (points) => new RateLimiterMemory({ points, duration: 1 }),
  });
  const failures = new RateLimiterMemory({ points: settings.failedKeysPerMinute, duration: 60 });
  return {
    countRequest: (apiKeyId, perSecond) => {
      if (perSecond > 0) return retryAfterSeconds(ownRates.memo(perSecond), apiKeyId);
      return perKeyPerSecond === 0 ? unlimited : retryAfterSeconds(requests, apiKeyId);
    },
    countFailedKey: async (ip) =>
      settings.failedKeysPerMinute === 0 ? undefined : retryAfterSeconds(failures, networkOf(ip)),
  };
}

const unlimited = Promise.resolve(undefined);

const retryAfterSeconds = (limiter: RateLimiterMemory, key: string): Promise<number | undefined> =>
  limiter.consume(key).then(() => undefined, secondsLeft);

function secondsLeft(exceeded: unknown): number {
  if (exceeded instanceof RateLimiterRes) return Math.max(1, Math.ceil(exceeded.msBeforeNext / 1000));
  throw exceeded;
}
