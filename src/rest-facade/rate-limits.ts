import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export interface RateLimitSettings {
  /** Requests a second that one API key may make; 0 sets no limit. */
  readonly perKeyPerSecond: number;
  /**
   * Failed keys a minute from one address; after that its failures are answered with 429 until
   * the minute is over. 0 sets no limit.
   */
  readonly failedKeysPerMinute: number;
}

/** Each gives undefined when the request may go on, otherwise the whole seconds after which to try again. */
export interface RateLimits {
  /** `perSecond`: what this key is granted; what every key is when 0. */
  readonly countRequest: (apiKeyId: string, perSecond: number) => Promise<number | undefined>;
  readonly countFailedKey: (ip: string) => Promise<number | undefined>;
}

const maxOwnRates = 1_000;

/** Counts in the memory of this process: with several facades behind a balancer, each allows its own share. */
export function createRateLimits(settings: RateLimitSettings): RateLimits {
  const requests = new RateLimiterMemory({ points: settings.perKeyPerSecond, duration: 1 });
  // Few merchants have a number of their own, and many of those the same one.
  const ownRates = new LRUCache<number, RateLimiterMemory>({
    max: maxOwnRates,
    memoMethod: (points) => new RateLimiterMemory({ points, duration: 1 }),
  });
  const failures = new RateLimiterMemory({ points: settings.failedKeysPerMinute, duration: 60 });
  return {
    countRequest: async (apiKeyId, perSecond) => {
      if (perSecond > 0) return retryAfterSeconds(ownRates.memo(perSecond), apiKeyId);
      return settings.perKeyPerSecond === 0 ? undefined : retryAfterSeconds(requests, apiKeyId);
    },
    countFailedKey: async (ip) =>
      settings.failedKeysPerMinute === 0 ? undefined : retryAfterSeconds(failures, networkOf(ip)),
  };
}

async function retryAfterSeconds(limiter: RateLimiterMemory, key: string): Promise<number | undefined> {
  try {
    await limiter.consume(key);
    return undefined;
  } catch (exceeded) {
    if (exceeded instanceof RateLimiterRes) return Math.max(1, Math.ceil(exceeded.msBeforeNext / 1000));
    throw exceeded;
  }
}

/**
 * What failures are counted by: the address itself for IPv4; the /64 for IPv6, which one subscriber has to itself and
 * can change within at will. A client that is gone already has no address; all of those are counted as one.
 */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'unknown';
  const address = ipaddr.process(ip);
  return address.kind() === 'ipv4' ? address.toString() : address.toByteArray().slice(0, 8).join('.');
}
