import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { siteOf } from '../../platform/http/client-address.ts';
import { secondsLeft } from '../../platform/http/seconds-left.ts';
import { PageProblem } from '../page-problem.ts';
import { atMost } from '../../platform/at-most.ts';

/** Cookies of unknown sessions and unusable links from one site in a minute. A user whose session has expired sends a few. */
const unknownPerMinute = 120;
/** The number of sessions and links per second that core looks up for a site above that limit. */
const lookupsOverLimitPerSecond = 10;
/** A session or link that worked in this time is read even above the limit. */
const knownMs = 60 * 60_000;
const maxKnown = 10_000;

const reasons = { session: 'TOO_MANY_UNKNOWN_SESSIONS', link: 'TOO_MANY_UNUSABLE_LINKS' } as const;

/** The secret that a browser presents: the id of a session, or the token of a one-time link. */
export interface Presented {
  readonly kind: keyof typeof reasons;
  readonly secret: string;
}

export interface UnknownSecretLimits {
  /** The refusal of a session or link if core has been asked about too many that do not exist; otherwise undefined. */
  readonly refusalOf: (request: FastifyRequest, presented: Presented) => Promise<PageProblem | undefined>;
  /** Remembers whether core knew the session or link. */
  readonly record: (request: FastifyRequest, presented: Presented, isKnown: boolean) => Promise<void>;
}

const keyOf = ({ kind, secret }: Presented): string =>
  `${kind} ${createHash('sha256').update(secret).digest('base64')}`;

/**
 * Limits how often core reads sessions and links that do not exist. Each question costs core a query, so a site that makes up cookies or
 * links could otherwise slow down all payments. The counts are in the memory of this process, as those of failed API keys in a facade are.
 */
export function createUnknownSecretLimits(): UnknownSecretLimits {
  const unknown = new RateLimiterMemory({ points: unknownPerMinute, duration: 60 });
  const lookupsOverLimit = new RateLimiterMemory({ points: lookupsOverLimitPerSecond, duration: 1 });
  const known = new LRUCache<string, true>({ ...atMost(maxKnown), ttl: knownMs });
  return {
    async refusalOf({ ip }, presented) {
      if (known.has(keyOf(presented))) return undefined;
      const site = siteOf(ip);
      const counted = await unknown.get(site);
      if (counted === null || counted.consumedPoints <= unknown.points) return undefined;
      if (await consumeTry(lookupsOverLimit, site)) return undefined;
      const retryAfterSeconds = secondsLeft(unknown, counted);
      return new PageProblem('tooManyRequests', reasons[presented.kind], { retryAfterSeconds });
    },
    async record({ ip }, presented, isKnown) {
      if (isKnown) {
        known.set(keyOf(presented), true);
        return;
      }
      known.delete(keyOf(presented));
      await consumeTry(unknown, siteOf(ip));
    },
  };
}

/** Whether it was within the limit. */
const consumeTry = (limiter: RateLimiterMemory, key: string): Promise<boolean> =>
  limiter.consume(key).then(
    () => true,
    (exceeded: unknown) => {
      if (exceeded instanceof RateLimiterRes) return false;
      throw exceeded;
    },
  );
