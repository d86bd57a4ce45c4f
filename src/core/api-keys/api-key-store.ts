import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Database } from '../database/database.ts';
import { ApiKeyRow } from '../database/merchant-entities.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId } from '../../contract/public-id.ts';
import {
  issueApiKey,
  recordKeyUse,
  revokeApiKey,
  rotateApiKey,
  setScopes,
} from '../domain/api-key-life-cycle.ts';
import type { ApiKeyScope, ApiKeyTimes } from '../domain/api-key-life-cycle.ts';
import type { Environment } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** The stored facts about a key, with public ids. */
export interface ApiKey extends ApiKeyTimes {
  readonly id: PublicId<'key'>;
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly prefix: string;
  readonly label: string;
  readonly scopes: readonly ApiKeyScope[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

/** A key to store, without its secret, which is shown only once. */
export interface NewApiKey {
  readonly prefix: string;
  readonly hash: Buffer;
}

export interface ApiKeyStore {
  /** Also finds revoked and expired keys. Undefined when no key has this hash. */
  readonly findByHash: (hash: Buffer) => Promise<ApiKey | undefined>;
  /** Also finds revoked and expired keys. */
  readonly find: (merchantId: PublicId<'mer'>, apiKeyId: PublicId<'key'>) => Promise<ApiKey | undefined>;
  /** The newest, up to the limit, and all older ones that are usable. Newest first. */
  readonly list: (
    merchantId: PublicId<'mer'>,
    environment: Environment | undefined,
    limit: number,
  ) => Promise<ApiKey[]>;
  /** Adds a key. `too_many` when the environment of the merchant has as many usable keys as it may. */
  readonly add: (
    key: Pick<ApiKey, 'merchantId' | 'environment' | 'label' | 'scopes'> & NewApiKey,
    by: Actor,
  ) => Promise<Result<ApiKey, 'too_many'>>;
  /** Adds the key's successor, and lets the key expire after the overlap. */
  readonly replace: (
    merchantId: PublicId<'mer'>,
    apiKeyId: PublicId<'key'>,
    makeKey: (environment: Environment) => NewApiKey,
    overlapMs: number,
    by: Actor,
  ) => Promise<
    Result<{ readonly added: ApiKey; readonly replaced: ApiKey }, 'not_found' | 'not_usable' | 'too_many'>
  >;
  /** Replaces the scopes of a usable key. */
  readonly setScopes: (
    merchantId: PublicId<'mer'>,
    apiKeyId: PublicId<'key'>,
    scopes: readonly ApiKeyScope[],
    by: Actor,
  ) => Promise<Result<ApiKey, 'not_found' | 'not_usable'>>;
  /** Revokes a key. A repeat changes nothing. Undefined when the merchant has no such key. */
  readonly revoke: (
    merchantId: PublicId<'mer'>,
    apiKeyId: PublicId<'key'>,
    by: Actor,
  ) => Promise<ApiKey | undefined>;
  /** Records the use of the key, to the minute. */
  readonly touch: (key: ApiKey) => Promise<void>;
}

export interface ApiKeyStoreOptions {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
}

const apiKeyOf = (row: ApiKeyRow): ApiKey => ({
  id: publicId('key', row.id),
  merchantId: publicId('mer', row.merchantId),
  environment: row.environment,
  prefix: row.prefix,
  label: row.label,
  scopes: row.scopes,
  createdAt: row.createdAt,
  lastUsedAt: row.lastUsedAt ?? null,
  expiresAt: row.expiresAt ?? null,
  revokedAt: row.revokedAt ?? null,
});

export function createApiKeyStore({ database, newId, now }: ApiKeyStoreOptions): ApiKeyStore {
  const keyOf = (merchantId: PublicId<'mer'>, apiKeyId: PublicId<'key'>) => ({
    merchantId: storedId('mer', merchantId),
    id: storedId('key', apiKeyId),
  });
  const lock = (em: EntityManager, merchantId: PublicId<'mer'>, apiKeyId: PublicId<'key'>) =>
    em.findOne(ApiKeyRow, keyOf(merchantId, apiKeyId), { lockMode: LockMode.PESSIMISTIC_WRITE });
  /** The condition of a usable key, which the partial index `api_keys_unrevoked` has. */
  const usable = () => ({ revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now() } }] });
  /**
   * The keys that count against the limits. Two concurrent calls would each count one key too few. So calls that add a key are
   * serialised per merchant and environment. The keys that have ended are left out, because their number has no limit.
   */
  const lockCounted = async (em: EntityManager, merchantId: PublicId<'mer'>, environment: Environment) => {
    await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
      `api-keys:${merchantId}:${environment}`,
    ]);
    const where = { merchantId: storedId('mer', merchantId), environment, ...usable() };
    return (await em.find(ApiKeyRow, where)).map(apiKeyOf);
  };
  const create = (
    em: EntityManager,
    key: Pick<ApiKey, 'merchantId' | 'environment' | 'label' | 'scopes'> & ApiKeyTimes & NewApiKey,
    at: Date,
  ) =>
    em.create(ApiKeyRow, {
      ...keyOf(key.merchantId, newId('key', at)),
      environment: key.environment,
      prefix: key.prefix,
      keyHash: key.hash,
      label: key.label,
      scopes: [...key.scopes],
      createdAt: at,
      expiresAt: key.expiresAt,
      revokedAt: key.revokedAt,
    });

  return {
    async findByHash(hash) {
      const row = await database.fork().findOne(ApiKeyRow, { keyHash: hash });
      return row === null ? undefined : apiKeyOf(row);
    },
    async find(merchantId, apiKeyId) {
      const row = await database.fork().findOne(ApiKeyRow, keyOf(merchantId, apiKeyId));
      return row === null ? undefined : apiKeyOf(row);
    },
    async list(merchantId, environment, limit) {
      const where = {
        merchantId: storedId('mer', merchantId),
        ...(environment === undefined ? {} : { environment }),
      };
      const em = database.fork();
      const newest = await em.find(ApiKeyRow, where, { orderBy: { id: 'desc' }, limit });
      const last = newest.at(-1);
      if (last === undefined || newest.length < limit) return newest.map(apiKeyOf);
      const older = await em.find(
        ApiKeyRow,
        { ...where, ...usable(), id: { $lt: last.id } },
        { orderBy: { id: 'desc' } },
      );
      return [...newest, ...older].map(apiKeyOf);
    },
    async add(key, by) {
      return database.fork().transactional(async (em) => {
        const { merchantId, environment } = key;
        const existing = await lockCounted(em, merchantId, environment);
        const at = now();
        const issued = issueApiKey(existing, at);
        if (!issued.ok) return issued;
        const added = apiKeyOf(create(em, { ...key, ...issued.value }, at));
        const details = { environment, prefix: key.prefix, label: key.label, ...scopeDetails(key.scopes) };
        recordAudit(em, newId, at, by, { action: 'api_key.issue', merchantId, targetId: added.id, details });
        return ok(added);
      });
    },
    async replace(merchantId, apiKeyId, makeKey, overlapMs, by) {
      return database.fork().transactional(async (em) => {
        const row = await lock(em, merchantId, apiKeyId);
        if (row === null) return err('not_found' as const);
        const key = apiKeyOf(row);
        const existing = await lockCounted(em, merchantId, key.environment);
        const others = existing.filter(({ id }) => id !== key.id);
        const at = now();
        const rotated = rotateApiKey(key, others, overlapMs, at);
        if (!rotated.ok) return rotated;
        const { successor, replaced } = rotated.value;
        const secret = makeKey(successor.environment);
        const added = apiKeyOf(create(em, { merchantId, ...successor, ...secret }, at));
        row.expiresAt = replaced.expiresAt;
        const details = {
          replaced: apiKeyId,
          replaced_expires_at: replaced.expiresAt?.toISOString() ?? null,
        };
        recordAudit(em, newId, at, by, { action: 'api_key.rotate', merchantId, targetId: added.id, details });
        return ok({ added, replaced });
      });
    },
    async setScopes(merchantId, apiKeyId, scopes, by) {
      return database.fork().transactional(async (em) => {
        const row = await lock(em, merchantId, apiKeyId);
        if (row === null) return err('not_found' as const);
        const at = now();
        const changed = setScopes(apiKeyOf(row), scopes, at);
        if (!changed.ok || [...row.scopes].sort().join() === [...scopes].sort().join()) return changed;
        row.scopes = [...scopes];
        const details = { scopes: scopes.join(', ').toLowerCase() };
        recordAudit(em, newId, at, by, {
          action: 'api_key.set_scopes',
          merchantId,
          targetId: apiKeyId,
          details,
        });
        return changed;
      });
    },
    async revoke(merchantId, apiKeyId, by) {
      return database.fork().transactional(async (em) => {
        const row = await lock(em, merchantId, apiKeyId);
        if (row === null) return undefined;
        const key = apiKeyOf(row);
        const at = now();
        const revoked = revokeApiKey(key, at);
        if (revoked !== key) {
          row.revokedAt = revoked.revokedAt;
          recordAudit(em, newId, at, by, {
            action: 'api_key.revoke',
            merchantId,
            targetId: apiKeyId,
            details: {},
          });
        }
        return revoked;
      });
    },
    async touch(key) {
      const used = recordKeyUse(key, now());
      if (used === key) return;
      const { lastUsedAt } = used;
      await database.fork().nativeUpdate(ApiKeyRow, keyOf(key.merchantId, key.id), { lastUsedAt });
    },
  };
}

const scopeDetails = (scopes: readonly ApiKeyScope[]): Record<string, string> =>
  scopes.length === 0 ? {} : { scopes: scopes.join(', ').toLowerCase() };
