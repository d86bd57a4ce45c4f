import { LRUCache } from 'lru-cache';
import type { PoolClient } from 'pg';
import type { NamedKey } from '../../platform/settings/named-keys.ts';
import type { NewId } from '../../contract/public-id.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { Database } from '../database/database.ts';
import type { Environment, SecretOwner } from '../domain/delivery.ts';
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
  lockSecrets,
  makeCurrent,
  removeSecrets,
} from './secret-rows.ts';
import type { LiveRows, StoredSecret } from './secret-rows.ts';
import type { LiveSecrets } from '../../contract/webhook-signature.ts';

/** The public facts about a merchant's signing secret, without its text. */
export interface SigningSecret extends SecretOwner {
  readonly id: string;
  readonly state: 'CURRENT' | 'NEXT';
  /** Its last four characters. */
  readonly ending: string;
  /** False for a secret that an earlier version created to sign a webhook, and that was never displayed. */
  readonly shown: boolean;
  readonly createdAt: Date;
  /** When a next secret becomes current automatically. */
  readonly promoteAt: Date | null;
}

export interface SigningSecrets {
  /**
   * The signing secrets, at most 5 seconds old; undefined while none was displayed to anyone.
   * @throws SecretUnusableError with the name of the missing or wrong key.
   */
  readonly live: (owner: SecretOwner) => Promise<LiveSecrets | undefined>;
  /** A new secret that is not stored. It signs webhooks that the receiver has no secret to verify. */
  readonly unseen: () => LiveSecrets;
  /** Why nothing can be signed; undefined when it can. Changes nothing. */
  readonly problem: (owner: SecretOwner) => Promise<SecretProblem | 'NOT_SHOWN' | undefined>;
  /** Of orders' webhook_urls: the current secret before the next one, sandbox before production. */
  readonly list: (merchantId: string, environment: Environment | undefined) => Promise<SigningSecret[]>;
  /** Of a webhook endpoint: the current secret before the next one. */
  readonly listOf: (owner: SecretOwner) => Promise<SigningSecret[]>;
  /**
   * Creates a secret and returns its text, which is never displayed again. The first secret is current at once, as is
   * the replacement of a secret that was never displayed. With `promoteAfterMs` 0 every secret is. Any other secret is
   * next until it is promoted or that time has passed.
   */
  readonly rotate: (
    owner: SecretOwner,
    promoteAfterMs: number,
    by: Actor,
  ) => Promise<{ readonly secret: SigningSecret; readonly text: string }>;
  /** `rotate` of an owner without secrets, in the caller's transaction. */
  readonly createFirst: (
    client: PoolClient,
    owner: SecretOwner,
    by: Actor,
  ) => Promise<{ readonly secret: SigningSecret; readonly text: string }>;
  /** Removes all secrets of an owner, in the caller's transaction. */
  readonly removeAll: (client: PoolClient, owner: SecretOwner) => Promise<void>;
  /** Makes the next secret the current one; undefined when there is no next secret. */
  readonly promote: (owner: SecretOwner, by: Actor) => Promise<SigningSecret | undefined>;
  /** Promotes next secrets whose time has come. Returns their number. */
  readonly promoteDue: () => Promise<number>;
  /** Encrypts all secrets with the first key that use another. */
  readonly reseal: () => Promise<Resealed>;
}

export interface SigningSecretsParts {
  readonly database: Database;
  /** The first encrypts. The others only decrypt. */
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

/** Decrypted secrets with their rows. The time of use decides which one is current. */
interface Opened {
  readonly rows: LiveRows;
  readonly textOf: (row: StoredSecret) => string;
}

export function createSigningSecrets(parts: SigningSecretsParts): SigningSecrets {
  const { newId, now } = parts;
  const { pool } = parts.database;
  const cipher = createSecretCipher(parts.keys, parts.randomBytes);
  const cache = new LRUCache<string, Promise<Opened | undefined>>({
    max: maxOwners,
    ttl: maxAgeMs,
    ttlResolution: 0,
    perf: { now: () => now().getTime() },
  });
  const nameOf = ({ merchantId, environment, endpointId }: SecretOwner): string =>
    `${merchantId}|${environment}|${endpointId}`;

  const newText = (): string => `whsec_${parts.randomBytes(secretBytes).toString('base64')}`;
  const makeSecret = (
    owner: SecretOwner,
    kind: Pick<StoredSecret, 'shown' | 'isCurrent' | 'promoteAt'>,
    at: Date,
  ) => {
    const text = newText();
    const name = { ...owner, id: newId('whs', at) };
    const row = { ...name, ...cipher.seal(text, name), ...kind, ending: text.slice(-4), createdAt: at };
    return { text, row };
  };

  /** @throws SecretUnusableError */
  const openAll = (rows: LiveRows): ReadonlyMap<string, string> =>
    new Map(Object.values(rows).map((row: StoredSecret) => [row.id, cipher.open(row, row)] as const));

  const find = ({ merchantId, environment, endpointId }: SecretOwner): Promise<StoredSecret[]> =>
    findSecrets(pool, merchantId, environment, endpointId);

  const open = async (owner: SecretOwner): Promise<Opened | undefined> => {
    const rows = liveRows(await find(owner), now());
    if (rows === undefined) return undefined;
    const texts = openAll(rows);
    return { rows, textOf: ({ id }) => texts.get(id) ?? '' };
  };

  const rotate = async (
    client: PoolClient,
    rows: readonly StoredSecret[],
    { owner, promoteAfterMs, by }: Rotation,
  ): Promise<{ secret: SigningSecret; text: string }> => {
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
      details: { ...auditDetails(owner), promote_time: promoteAt?.toISOString() ?? null },
    });
    return { secret: describe(row, isCurrent), text };
  };

  return {
    async live(owner) {
      const name = nameOf(owner);
      let opened = cache.get(name);
      if (opened === undefined) {
        opened = open(owner);
        cache.set(name, opened);
        // Neither a failure nor the absence of a secret is cached, so the next call tries again.
        const forget = (): unknown => cache.peek(name) === opened && cache.delete(name);
        opened.then((found) => found ?? forget(), forget);
      }
      const found = await opened;
      if (found === undefined) return undefined;
      const { rows, textOf } = found;
      const { current, next } = liveRows(Object.values(rows) as StoredSecret[], now()) ?? rows;
      return { current: textOf(current), ...(next === undefined ? {} : { next: textOf(next) }) };
    },

    unseen: () => ({ current: newText() }),

    async problem(owner) {
      const rows = liveRows(await find(owner), now());
      if (rows === undefined) return 'NOT_SHOWN';
      try {
        openAll(rows);
        return undefined;
      } catch (error) {
        if (error instanceof SecretUnusableError) return error.problem;
        throw error;
      }
    },

    async list(merchantId, environment) {
      const at = now();
      const rows = await findSecrets(pool, merchantId, environment, '');
      return (['SANDBOX', 'PRODUCTION'] as const).flatMap((each) =>
        describeLive(
          rows.filter((row) => row.environment === each),
          at,
        ),
      );
    },

    listOf: async (owner) => describeLive(await find(owner), now()),

    async rotate(owner, promoteAfterMs, by) {
      const made = await changeSecrets(pool, owner, (client, rows) =>
        rotate(client, rows, { owner, promoteAfterMs, by }),
      );
      cache.delete(nameOf(owner));
      return made;
    },

    createFirst: async (client, owner, by) =>
      rotate(client, await lockSecrets(client, owner), { owner, promoteAfterMs: 0, by }),

    removeAll: (client, owner) => removeSecrets(client, owner, { current: true, next: true }),

    async promote(owner, by) {
      const promoted = await changeSecrets(pool, owner, async (client, rows) => {
        const at = now();
        const next = liveRows(rows, at)?.next;
        if (next === undefined) return undefined;
        await recordAudit(client, newId, at, by, {
          action: 'signing_secret.promote',
          merchantId: owner.merchantId,
          targetId: next.id,
          details: auditDetails(owner),
        });
        return describe(await makeCurrent(client, next), true);
      });
      cache.delete(nameOf(owner));
      return promoted;
    },

    async promoteDue() {
      const due = await findDue(pool, now(), dueBatch);
      let count = 0;
      for (const owner of due) {
        count += await changeSecrets(pool, owner, async (client, rows) => {
          // Another process may have created a secret, or an operator rotated it.
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

interface Rotation {
  readonly owner: SecretOwner;
  readonly promoteAfterMs: number;
  readonly by: Actor;
}

const auditDetails = ({ environment, endpointId }: SecretOwner) => ({
  environment,
  ...(endpointId === '' ? {} : { webhook_endpoint: endpointId }),
});

/** Empty without secrets. */
function describeLive(rows: readonly StoredSecret[], at: Date): SigningSecret[] {
  const live = liveRows(rows, at);
  if (live === undefined) return [];
  const { current, next } = live;
  return [describe(current, true), ...(next === undefined ? [] : [describe(next, false)])];
}

function describe(row: StoredSecret, isCurrent: boolean): SigningSecret {
  const { merchantId, environment, endpointId, id, ending, shown, createdAt, promoteAt } = row;
  return {
    merchantId,
    environment,
    endpointId,
    id,
    state: isCurrent ? 'CURRENT' : 'NEXT',
    ending,
    shown,
    createdAt,
    promoteAt: isCurrent ? null : promoteAt,
  };
}
