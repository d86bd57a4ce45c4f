import { RateLimiterMemory } from 'rate-limiter-flexible';
import { networkOf } from '../platform/http/client-address.ts';
import { secondsLeft } from '../platform/http/seconds-left.ts';

/** Counts an unknown link for an address. Returns the seconds to wait if the limit is exceeded. */
export type CountUnknownLink = (ip: string) => Promise<number | undefined>;

/**
 * An attacker cannot guess a 256-bit token. The limit stops clients that repeat a wrong link by mistake, and reduces load. It counts only
 * unknown links, because many customers of one mobile operator may share an address. The counts are in the memory of this
 * process, so each of several processes behind a balancer has its own limit.
 */
export function createUnknownLinkLimit(perMinute: number): CountUnknownLink {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: 60 });
  return async (ip) => {
    try {
      await limiter.consume(networkOf(ip));
      return undefined;
    } catch (exceeded) {
      return secondsLeft(limiter, exceeded);
    }
  };
}
