import { LRUCache } from 'lru-cache';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { siteOf } from '../platform/http/client-address.ts';
import { secondsLeft } from '../platform/http/seconds-left.ts';
import { atMost } from '../platform/at-most.ts';

export interface RateLimitSettings {
  /** Requests per second and API key; 0 sets no limit. */
  readonly perKeyPerSecond: number;
  /**
   * Failed keys per minute and site: an IPv4 address, or an IPv6 /48. Further failures get 429 until the minute is over. 0 sets no limit.
   */
  readonly failedKeysPerMinute: number;
}

export interface KeyOfMerchant {
  readonly merchantId: string;
  readonly apiKeyId: string;
}

/** Each function gives undefined when the request may continue, otherwise the whole seconds until a retry. */
export interface RateLimits {
  /** `perSecond`: the limit of this key, or 0 for the standard limit. */
  readonly countRequest: (by: KeyOfMerchant, perSecond: number) => Promise<number | undefined>;
  readonly countFailedKey: (ip: string) => Promise<number | undefined>;
  /** Counts a key that core has not accepted lately, before core is asked about it. */
  readonly countUnknownKey: (ip: string) => Promise<number | undefined>;
}

const maxOwnRates = 1_000;

/** All keys of a merchant may send as much as this many keys. It can have far more keys. */
const keysPerMerchant = 4;

/**
 * The number of keys per second that core looks up for one site that is above its limit of failed keys. Each look-up costs core a query.
 * Without this limit, one site could slow down all merchants.
 */
const lookupsOverLimitPerSecond = 10;

/** Counts in the memory of this process. Each of several facades behind a balancer allows the whole limit. */
export function createRateLimits(settings: RateLimitSettings): RateLimits {
  const { perKeyPerSecond } = settings;
  const standardRate = rateOf(perKeyPerSecond);
  // Few merchants have their own limit, and many of these share the same one.
  const ownRates = new LRUCache<number, CountRequest>({
    ...atMost(maxOwnRates),
    memoMethod: rateOf,
  });
  const failures = new RateLimiterMemory({ points: settings.failedKeysPerMinute, duration: 60 });
  const lookupsOverLimit = new RateLimiterMemory({ points: lookupsOverLimitPerSecond, duration: 1 });
  return {
    countRequest: (by, perSecond) => {
      if (perSecond > 0) return ownRates.memo(perSecond)(by);
      return perKeyPerSecond === 0 ? unlimited : standardRate(by);
    },
    countFailedKey: async (ip) =>
      settings.failedKeysPerMinute === 0 ? undefined : retryAfterSeconds(failures, siteOf(ip)),
    countUnknownKey: async (ip) => {
      const site = siteOf(ip);
      const failed = await failures.get(site);
      if (failed === null || failed.consumedPoints <= failures.points) return undefined;
      const over = await retryAfterSeconds(lookupsOverLimit, site);
      return over === undefined ? undefined : secondsLeft(failures, failed);
    },
  };
}

type CountRequest = (by: KeyOfMerchant) => Promise<number | undefined>;

function rateOf(perKeyPerSecond: number): CountRequest {
  const keys = new RateLimiterMemory({ points: perKeyPerSecond, duration: 1 });
  const merchants = new RateLimiterMemory({ points: keysPerMerchant * perKeyPerSecond, duration: 1 });
  return ({ merchantId, apiKeyId }) =>
    keys.consume(apiKeyId).then(
      () => retryAfterSeconds(merchants, merchantId),
      (exceeded: unknown) => secondsLeft(keys, exceeded),
    );
}

const unlimited = Promise.resolve(undefined);

const retryAfterSeconds = (limiter: RateLimiterMemory, key: string): Promise<number | undefined> =>
  limiter.consume(key).then(
    () => undefined,
    (exceeded: unknown) => secondsLeft(limiter, exceeded),
  );
