import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../runtime/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit-use-case.ts';
import type { Database } from '../database/database.ts';
import { ApiKeyRow } from '../database/entities.ts';
import { publicId, storedId } from '../../runtime/public-id.ts';
import type { NewId } from '../../runtime/public-id.ts';
import type { Environment } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** What is known of a key; ids as they are shown. */
export interface ApiKey {
  readonly id: string;
  readonly merchantId: string;
  readonly environment: Environment;
  readonly prefix: string;
  readonly label: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** A key to store: what is left of it once it has been shown. */
export interface NewApiKey {
  readonly prefix: string;
  readonly hash: Buffer;
}

export type RotationRefusal = 'not_found' | 'not_usable';

export interface ApiKeyStore {
  readonly findByHash: (hash: Buffer) => Promise<ApiKey | undefined>;
  readonly find: (merchantId: string, apiKeyId: string) => Promise<ApiKey | undefined>;
  /** Newest first. */
  readonly list: (
    merchantId: string,
    environment: Environment | undefined,
    limit: number,
  ) => Promise<ApiKey[]>;
  /** Refused when the merchant has `maxUsable` usable keys in the environment. */
  readonly add: (
    key: Pick<ApiKey, 'merchantId' | 'environment' | 'label'> & NewApiKey,
    maxUsable: number,
    by: Actor,
  ) => Promise<Result<ApiKey, 'too_many'>>;
  /** Adds a key of the same environment and label, and lets the old one end at `endOldAt` if not before. */
  readonly replace: (
    merchantId: string,
    apiKeyId: string,
    makeKey: (environment: Environment) => NewApiKey,
    overlapMs: number,
    by: Actor,
  ) => Promise<Result<{ readonly added: ApiKey; readonly replaced: ApiKey }, RotationRefusal>>;
  readonly revoke: (merchantId: string, apiKeyId: string, by: Actor) => Promise<ApiKey | undefined>;
  /** Remembers, to the minute, that the key was accepted. */
  readonly touch: (key: ApiKey) => Promise<void>;
}

export interface ApiKeyStoreOptions {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
}

/** Whether a key opens anything at this time. */
export const isUsable = (key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, at: Date): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > at);

const lastUsedPrecisionMs = 60_000;

const apiKeyOf = (row: ApiKeyRow): ApiKey => ({
  id: publicId('key', row.id),
  merchantId: publicId('mer', row.merchantId),
  environment: row.environment,
  prefix: row.prefix,
  label: row.label,
  createdAt: row.createdAt,
  lastUsedAt: row.lastUsedAt ?? null,
  expiresAt: row.expiresAt ?? null,
  revokedAt: row.revokedAt ?? null,
});

export function createApiKeyStore({ database, newId, now }: ApiKeyStoreOptions): ApiKeyStore {
  const keyOf = (merchantId: string, apiKeyId: string) => ({
    merchantId: storedId('mer', merchantId),
    id: storedId('key', apiKeyId),
  });
  const lock = (em: EntityManager, merchantId: string, apiKeyId: string) =>
    em.findOne(ApiKeyRow, keyOf(merchantId, apiKeyId), { lockMode: LockMode.PESSIMISTIC_WRITE });
  const create = (
    em: EntityManager,
    key: Pick<ApiKey, 'merchantId' | 'environment' | 'label'> & NewApiKey,
    at: Date,
  ) =>
    em.create(ApiKeyRow, {
      ...keyOf(key.merchantId, newId('key', at)),
      environment: key.environment,
      prefix: key.prefix,
      keyHash: key.hash,
      label: key.label,
      createdAt: at,
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
      const rows = await database.fork().find(ApiKeyRow, where, { orderBy: { id: 'desc' }, limit });
      return rows.map(apiKeyOf);
    },
    async add(key, maxUsable, by) {
      return database.fork().transactional(async (em) => {
        const { merchantId, environment } = key;
        // Two issued at once would each count one too few; one at a time per merchant and environment counts right.
        await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
          `api-keys:${merchantId}:${environment}`,
        ]);
        const rows = await em.find(ApiKeyRow, {
          merchantId: storedId('mer', merchantId),
          environment,
          revokedAt: null,
        });
        const at = now();
        if (rows.filter((row) => isUsable(apiKeyOf(row), at)).length >= maxUsable)
          return err('too_many' as const);
        const added = apiKeyOf(create(em, key, at));
        const details = { environment, prefix: key.prefix, label: key.label };
        recordAudit(em, newId, at, by, { action: 'api_key.issue', merchantId, targetId: added.id, details });
        return ok(added);
      });
    },
    async replace(merchantId, apiKeyId, makeKey, overlapMs, by) {
      return database.fork().transactional(async (em) => {
        const row = await lock(em, merchantId, apiKeyId);
        if (row === null) return err<RotationRefusal>('not_found');
        const at = now();
        const old = apiKeyOf(row);
        if (!isUsable(old, at)) return err<RotationRefusal>('not_usable');
        const { environment, label } = old;
        const added = apiKeyOf(create(em, { merchantId, environment, label, ...makeKey(environment) }, at));
        const endOldAt = new Date(at.getTime() + overlapMs);
        if (old.expiresAt === null || old.expiresAt > endOldAt) row.expiresAt = endOldAt;
        const replaced = apiKeyOf(row);
        const details = {
          replaced: apiKeyId,
          replaced_expires_at: replaced.expiresAt?.toISOString() ?? null,
        };
        recordAudit(em, newId, at, by, { action: 'api_key.rotate', merchantId, targetId: added.id, details });
        return ok({ added, replaced });
      });
    },
    async revoke(merchantId, apiKeyId, by) {
      return database.fork().transactional(async (em) => {
        const row = await lock(em, merchantId, apiKeyId);
        if (row === null) return undefined;
        if (row.revokedAt == null) {
          const at = now();
          row.revokedAt = at;
          recordAudit(em, newId, at, by, {
            action: 'api_key.revoke',
            merchantId,
            targetId: apiKeyId,
            details: {},
          });
        }
        return apiKeyOf(row);
      });
    },
    async touch(key) {
      const at = now();
      if (key.lastUsedAt !== null && at.getTime() - key.lastUsedAt.getTime() < lastUsedPrecisionMs) return;
      await database.fork().nativeUpdate(ApiKeyRow, keyOf(key.merchantId, key.id), { lastUsedAt: at });
    },
  };
}
