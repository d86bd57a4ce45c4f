import { LRUCache } from 'lru-cache';
import type { NamedKey } from './secret-keys.ts';
import type { NewId } from '../../contract/public-id.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { Database } from '../database/database.ts';
import type { Environment } from '../domain/delivery.ts';
import type { SecretProblem } from '../domain/explain-delivery.ts';
import { resealSecrets } from './reseal-secrets.ts';
import type { Resealed } from './reseal-secrets.ts';
import { SecretUnusableError, createSecretCipher } from './secret-cipher.ts';
import {
  changeSecrets,
  findDue,
  findSecrets,
  insertSecret,
  liveRows,
  makeCurrent,
  removeSecrets,
} from './secret-rows.ts';
import type { LiveRows, SecretOwner, StoredSecret } from './secret-rows.ts';
import type { LiveSecrets } from './sign.ts';

/** A merchant's secret, without the secret. */
export interface SigningSecret extends SecretOwner {
  readonly id: string;
  readonly state: 'CURRENT' | 'NEXT';
  /** Its last four characters. */
  readonly ending: string;
  /** False when it was made because something had to be signed, and nobody has seen it. */
  readonly shown: boolean;
  readonly createdAt: Date;
  /** When a next secret becomes current by itself. */
  readonly promoteAt: Date | null;
}

export interface SigningSecrets {
  /**
   * What signs now: as stored at most 5 seconds ago. Makes a secret when there is none.
   * @throws SecretUnusableError naming the key that is missing or wrong.
   */
  readonly live: (merchantId: string, environment: Environment) => Promise<LiveSecrets>;
  /** Why the stored secrets cannot be decrypted; undefined when they can, or none is stored yet. Changes nothing. */
  readonly problem: (merchantId: string, environment: Environment) => Promise<SecretProblem | undefined>;
  /** The current one before the next one, sandbox before production. */
  readonly list: (merchantId: string, environment: Environment | undefined) => Promise<SigningSecret[]>;
  /**
   * Makes a secret; its text is given here and never again. Current at once: the first, one in place of a secret that
   * nobody was shown, or any when `promoteAfterMs` is 0; else next, until it is promoted or that time has passed.
   */
  readonly rotate: (
    owner: SecretOwner,
    promoteAfterMs: number,
    by: Actor,
  ) => Promise<{ readonly secret: SigningSecret; readonly text: string }>;
  /** Makes the next secret the current one; undefined when there is none that waits. */
  readonly promote: (owner: SecretOwner, by: Actor) => Promise<SigningSecret | undefined>;
  /** Makes current in the database what has become so by the passing of time. Gives how many. */
  readonly promoteDue: () => Promise<number>;
  /** Encrypts with the first key what is still encrypted with another. */
  readonly reseal: () => Promise<Resealed>;
}

export interface SigningSecretsParts {
  readonly database: Database;
  /** The first encrypts; the others still decrypt. */
  readonly keys: readonly [NamedKey, ...NamedKey[]];
  readonly newId: NewId;
  readonly randomBytes: (length: number) => Buffer;
  readonly now: () => Date;
}

const maxAgeMs = 5_000;
const maxOwners = 10_000;
/** Standard Webhooks: 24 to 64 bytes. */
const secretBytes = 32;
const dueBatch = 100;

/** Secrets as they were read, opened: which of them is current depends on when they are asked for. */
interface Opened {
  readonly rows: LiveRows;
  readonly textOf: (row: StoredSecret) => string;
}

export function createSigningSecrets(parts: SigningSecretsParts): SigningSecrets {
  const { newId, now } = parts;
  const { pool } = parts.database;
  const cipher = createSecretCipher(parts.keys, parts.randomBytes);
  const cache = new LRUCache<string, Promise<Opened>>({
    max: maxOwners,
    ttl: maxAgeMs,
    ttlResolution: 0,
    perf: { now: () => now().getTime() },
  });
  const nameOf = ({ merchantId, environment }: SecretOwner): string => `${merchantId}|${environment}`;

  const makeSecret = (
    owner: SecretOwner,
    kind: Pick<StoredSecret, 'shown' | 'isCurrent' | 'promoteAt'>,
    at: Date,
  ) => {
    const text = `whsec_${parts.randomBytes(secretBytes).toString('base64')}`;
    const name = { merchantId: owner.merchantId, environment: owner.environment, id: newId('whs', at) };
    const row = { ...name, ...cipher.seal(text, name), ...kind, ending: text.slice(-4), createdAt: at };
    return { text, row };
  };

  /** Something has to be signed before anybody asked for a secret. */
  const makeFirst = (owner: SecretOwner): Promise<LiveRows> =>
    changeSecrets(pool, owner, async (client, rows) => {
      const at = now();
      const there = liveRows(rows, at);
      if (there !== undefined) return there;
      const { row } = makeSecret(owner, { shown: false, isCurrent: true, promoteAt: null }, at);
      await insertSecret(client, row);
      return { current: row };
    });

  /** @throws SecretUnusableError */
  const openAll = (rows: LiveRows): ReadonlyMap<string, string> =>
    new Map(Object.values(rows).map((row: StoredSecret) => [row.id, cipher.open(row, row)] as const));

  const open = async (owner: SecretOwner): Promise<Opened> => {
    const rows =
      liveRows(await findSecrets(pool, owner.merchantId, owner.environment), now()) ??
      (await makeFirst(owner));
    const texts = openAll(rows);
    return { rows, textOf: ({ id }) => texts.get(id) ?? '' };
  };

  return {
    async live(merchantId, environment) {
      const owner = { merchantId, environment };
      const name = nameOf(owner);
      let opened = cache.get(name);
      if (opened === undefined) {
        opened = open(owner);
        cache.set(name, opened);
        // The next one who asks tries again.
        opened.catch(() => cache.peek(name) === opened && cache.delete(name));
      }
      const { rows, textOf } = await opened;
      const { current, next } = liveRows(Object.values(rows) as StoredSecret[], now()) ?? rows;
      return { current: textOf(current), ...(next === undefined ? {} : { next: textOf(next) }) };
    },

    async problem(merchantId, environment) {
      const rows = liveRows(await findSecrets(pool, merchantId, environment), now());
      try {
        if (rows !== undefined) openAll(rows);
        return undefined;
      } catch (error) {
        if (error instanceof SecretUnusableError) return error.problem;
        throw error;
      }
    },

    async list(merchantId, environment) {
      const at = now();
      const rows = await findSecrets(pool, merchantId, environment);
      return (['SANDBOX', 'PRODUCTION'] as const).flatMap((each) => {
        const live = liveRows(
          rows.filter((row) => row.environment === each),
          at,
        );
        if (live === undefined) return [];
        const { current, next } = live;
        return [describe(current, true), ...(next === undefined ? [] : [describe(next, false)])];
      });
    },

    async rotate(owner, promoteAfterMs, by) {
      const made = await changeSecrets(pool, owner, async (client, rows) => {
        const at = now();
        const live = liveRows(rows, at);
        const isCurrent = live === undefined || !live.current.shown || promoteAfterMs === 0;
        const promoteAt = isCurrent ? null : new Date(at.getTime() + promoteAfterMs);
        const { text, row } = makeSecret(owner, { shown: true, isCurrent, promoteAt }, at);
        if (isCurrent) {
          await removeSecrets(client, owner, { current: true, next: true });
        } else {
          if (!live.current.isCurrent) await makeCurrent(client, live.current);
          await removeSecrets(client, owner, { current: false, next: true });
        }
        await insertSecret(client, row);
        await recordAudit(client, newId, at, by, {
          action: 'signing_secret.rotate',
          merchantId: owner.merchantId,
          targetId: row.id,
          details: { environment: owner.environment, promote_time: promoteAt?.toISOString() ?? null },
        });
        return { secret: describe(row, isCurrent), text };
      });
      cache.delete(nameOf(owner));
      return made;
    },

    async promote(owner, by) {
      const promoted = await changeSecrets(pool, owner, async (client, rows) => {
        const at = now();
        const next = liveRows(rows, at)?.next;
        if (next === undefined) return undefined;
        await recordAudit(client, newId, at, by, {
          action: 'signing_secret.promote',
          merchantId: owner.merchantId,
          targetId: next.id,
          details: { environment: owner.environment },
        });
        return describe(await makeCurrent(client, next), true);
      });
      cache.delete(nameOf(owner));
      return promoted;
    },

    async promoteDue() {
      const due = await findDue(pool, now(), dueBatch);
      let count = 0;
      for (const { merchantId, environment } of due) {
        count += await changeSecrets(pool, { merchantId, environment }, async (client, rows) => {
          // Another process may have been here, or an operator with a newer secret.
          const current = liveRows(rows, now())?.current;
          if (current === undefined || current.isCurrent) return 0;
          await makeCurrent(client, current);
          return 1;
        });
      }
      return count;
    },

    reseal: () => resealSecrets(pool, cipher),
  };
}

function describe(row: StoredSecret, isCurrent: boolean): SigningSecret {
  const { merchantId, environment, id, ending, shown, createdAt, promoteAt } = row;
  return {
    merchantId,
    environment,
    id,
    state: isCurrent ? 'CURRENT' : 'NEXT',
    ending,
    shown,
    createdAt,
    promoteAt: isCurrent ? null : promoteAt,
  };
}
