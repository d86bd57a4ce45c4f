import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../platform/http/client-address.ts';

const windowSeconds = 60;

/** Counts an unknown link for an address. Returns the seconds to wait if the limit is exceeded. */
export type CountUnknownLink = (ip: string) => Promise<number | undefined>;

/**
 * An attacker cannot guess a 256-bit token. The limit stops clients that try by mistake, and reduces load. It counts only
 * unknown links, because many customers of one mobile operator may share an address. The counts are in the memory of this
 * process, so each of several processes behind a balancer has its own limit.
 */
export function createUnknownLinkLimit(perMinute: number): CountUnknownLink {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: windowSeconds });
  return async (ip) => {
    try {
      await limiter.consume(networkOf(ip));
      return undefined;
    } catch (exceeded) {
      // The library uses the machine's clock, which may have been set back since.
      if (exceeded instanceof RateLimiterRes)
        return Math.min(windowSeconds, Math.max(1, Math.ceil(exceeded.msBeforeNext / 1000)));
      throw exceeded;
    }
  };
}
