import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { LiveSecrets } from '../../contract/webhook-signature.ts';
import type { SecretOwner } from '../domain/delivery.ts';
import type { SecretProblem } from '../domain/explain-delivery.ts';
import { SecretUnusableError } from './secret-cipher.ts';
import type { SecretCipher } from './secret-cipher.ts';
import { findSecretsOf, liveRows } from './secret-rows.ts';
import type { LiveRows, StoredSecret } from './secret-rows.ts';
import { atMost } from '../../platform/at-most.ts';

/** The decrypted secrets of owners, from a cache. */
export interface LiveSecretCache {
  /** The signing secrets, at most 5 seconds old; undefined while none was shown to anyone. @throws SecretUnusableError */
  readonly live: (owner: SecretOwner) => Promise<LiveSecrets | undefined>;
  /** Why nothing can be signed; undefined if there is no problem. Reads the database, and changes nothing. */
  readonly problem: (owner: SecretOwner) => Promise<SecretProblem | 'NOT_SHOWN' | undefined>;
  /** Reads the secrets of an owner again at the next call. */
  readonly forget: (owner: SecretOwner) => void;
}

/** Decrypted secrets with their rows. The time of use decides which one is current. */
interface Opened {
  readonly rows: LiveRows;
  readonly textOf: (row: StoredSecret) => string;
}

const maxAgeMs = 5_000;
const maxOwners = 10_000;

export interface LiveSecretsParts {
  readonly pool: Pool;
  readonly cipher: SecretCipher;
  /** The time by which a next secret is promoted. */
  readonly promotionTime: () => Date;
  /** A monotonic clock for the age of cached secrets, because other clocks may be set back. */
  readonly monotonicMs: () => number;
}

export function createLiveSecretCache(parts: LiveSecretsParts): LiveSecretCache {
  const { pool, cipher, promotionTime, monotonicMs } = parts;
  const cache = new LRUCache<string, Promise<Opened | undefined>>({
    ...atMost(maxOwners),
    ttl: maxAgeMs,
    ttlResolution: 0,
    perf: { now: monotonicMs },
  });
  const read = async (owner: SecretOwner): Promise<Opened | undefined> => {
    const rows = liveRows(await findSecretsOf(pool, owner), promotionTime());
    return rows === undefined ? undefined : openAll(cipher, rows);
  };
  const readCached = (owner: SecretOwner): Promise<Opened | undefined> => {
    const name = nameOf(owner);
    const cached = cache.get(name);
    if (cached !== undefined) return cached;
    const opened = read(owner);
    cache.set(name, opened);
    // Neither a failure nor the absence of a secret is cached, so the next call tries again.
    const forget = (): unknown => cache.peek(name) === opened && cache.delete(name);
    opened.then((found) => found ?? forget(), forget);
    return opened;
  };

  return {
    async live(owner) {
      const found = await readCached(owner);
      if (found === undefined) return undefined;
      const { rows, textOf } = found;
      const { current, next } = liveRows(Object.values(rows) as StoredSecret[], promotionTime()) ?? rows;
      return { current: textOf(current), ...(next === undefined ? {} : { next: textOf(next) }) };
    },

    async problem(owner) {
      try {
        return (await read(owner)) === undefined ? 'NOT_SHOWN' : undefined;
      } catch (error) {
        if (error instanceof SecretUnusableError) return error.problem;
        throw error;
      }
    },

    forget: (owner) => void cache.delete(nameOf(owner)),
  };
}

const nameOf = ({ merchantId, environment, endpointId }: SecretOwner): string =>
  `${merchantId}|${environment}|${endpointId}`;

/** @throws SecretUnusableError */
function openAll(cipher: SecretCipher, rows: LiveRows): Opened {
  const texts = new Map(
    Object.values(rows).map((row: StoredSecret) => [row.id, cipher.open(row, row)] as const),
  );
  return { rows, textOf: ({ id }) => texts.get(id) ?? '' };
}
