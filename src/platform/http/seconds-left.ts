import { RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimiterMemory } from 'rate-limiter-flexible';

/**
 * The whole seconds until the limiter's window ends, at least 1. At most the whole window: the library uses the machine's clock, which may
 * have been set back since. Throws `exceeded` again if it is another error.
 */
export function secondsLeft({ duration }: RateLimiterMemory, exceeded: unknown): number {
  if (exceeded instanceof RateLimiterRes)
    return Math.min(duration, Math.max(1, Math.ceil(exceeded.msBeforeNext / 1000)));
  throw exceeded;
}
