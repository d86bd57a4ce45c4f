import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { siteOf } from '../../platform/http/client-address.ts';
import { PageProblem } from '../page-problem.ts';

/** Cookies of unknown sessions from one site in a minute. A user whose session has expired sends a few. */
const strangePerMinute = 120;
/** How often a second core is asked about sessions from a site above that limit. */
const askedOverLimitPerSecond = 10;
/** A session that worked in this time is read whatever the limit. */
const knownMs = 60 * 60_000;
const maxKnown = 10_000;

export interface StrangeSessionLimits {
  /** Refuses a session that core would be asked about once too often. @throws PageProblem */
  readonly requireTries: (request: FastifyRequest, sessionId: string | undefined) => Promise<void>;
  /** Remembers whether core knew the session. */
  readonly record: (request: FastifyRequest, sessionId: string | undefined) => Promise<void>;
}

/**
 * Limits how often core reads sessions that do not exist. Each question costs core a query, so a site that makes up cookies could
 * otherwise slow down all payments. Counts in the memory of this process, as the merchant API does for failed keys.
 */
export function createStrangeSessionLimits(keyOf: (sessionId: string) => string): StrangeSessionLimits {
  const strange = new RateLimiterMemory({ points: strangePerMinute, duration: 60 });
  const askedOverLimit = new RateLimiterMemory({ points: askedOverLimitPerSecond, duration: 1 });
  const known = new LRUCache<string, true>({ max: maxKnown, ttl: knownMs });
  return {
    async requireTries({ ip }, sessionId) {
      if (sessionId === undefined || known.has(keyOf(sessionId))) return;
      const site = siteOf(ip);
      const counted = await strange.get(site);
      if (counted === null || counted.consumedPoints <= strange.points) return;
      if (await consume(askedOverLimit, site)) return;
      const retryAfterSeconds = Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
      throw new PageProblem('tooManyRequests', 'TOO_MANY_UNKNOWN_SESSIONS', { retryAfterSeconds });
    },
    async record({ ip, session }, sessionId) {
      if (sessionId === undefined) return;
      if (session.userId !== undefined) {
        known.set(keyOf(sessionId), true);
        return;
      }
      known.delete(keyOf(sessionId));
      await consume(strange, siteOf(ip));
    },
  };
}

/** Whether it was within the limit. */
const consume = (limiter: RateLimiterMemory, key: string): Promise<boolean> =>
  limiter.consume(key).then(
    () => true,
    (exceeded: unknown) => {
      if (exceeded instanceof RateLimiterRes) return false;
      throw exceeded;
    },
  );
