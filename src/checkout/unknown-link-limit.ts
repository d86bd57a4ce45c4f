import { networkOf } from './customer-network.ts';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** Counts a link that led nowhere against an address. Gives the seconds to wait once there were too many of them. */
export type CountUnknownLink = (ip: string) => Promise<number | undefined>;

/**
 * Nobody finds a 256-bit token by trying; the limit tells those who do so by mistake to stop, and keeps the noise down.
 * It is for unknown links alone, because many customers of one mobile operator may share an address. Counts in the memory
 * of this process: with several behind a balancer, each allows its own share.
 */
export function createUnknownLinkLimit(perMinute: number): CountUnknownLink {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: 60 });
  return async (ip) => {
    try {
      await limiter.consume(networkOf(ip));
      return undefined;
    } catch (exceeded) {
      if (exceeded instanceof RateLimiterRes) return Math.max(1, Math.ceil(exceeded.msBeforeNext / 1000));
      throw exceeded;
    }
  };
}
