import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/delivery.ts';

/** The owner of secrets. Each merchant has its own in each environment. */
export interface SecretOwner {
  readonly merchantId: string;
  readonly environment: Environment;
}

/** A stored secret. */
export interface StoredSecret extends SecretOwner {
  readonly id: string;
  readonly isCurrent: boolean;
  /** The id of the encrypting key. */
  readonly keyId: string;
  readonly sealed: Buffer;
  readonly ending: string;
  readonly shown: boolean;
  readonly createdAt: Date;
  readonly promoteAt: Date | null;
}

/** The secrets that sign: the current one and the optional next one. */
export interface LiveRows {
  readonly current: StoredSecret;
  readonly next?: StoredSecret;
}

/**
 * The secrets that sign at a time. A next secret counts as current from its promotion time, even before the database is
 * updated.
 */
export function liveRows(rows: readonly StoredSecret[], at: Date): LiveRows | undefined {
  const current = rows.find(({ isCurrent }) => isCurrent);
  const next = rows.find(({ isCurrent }) => !isCurrent);
  if (next?.promoteAt != null && next.promoteAt <= at) return { current: next };
  if (current === undefined) return undefined;
  return next === undefined ? { current } : { current, next };
}

const select = `
select merchant_id as "merchantId", environment, id, is_current as "isCurrent", key_id as "keyId", sealed, ending, shown,
  created_at as "createdAt", promote_at as "promoteAt"
from webhooks.signing_secrets
where merchant_id = $1 and ($2::webhooks.environment is null or environment = $2)
order by environment`;

const lockOwner = `select pg_advisory_xact_lock(hashtextextended('webhooks.signing_secrets|' || $1 || '|' || $2, 0))`;

const insert = `
insert into webhooks.signing_secrets
  (merchant_id, environment, id, is_current, key_id, sealed, ending, shown, created_at, promote_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

const remove = `
delete from webhooks.signing_secrets
where merchant_id = $1 and environment = $2 and is_current = any($3::boolean[])`;

const promote = `
update webhooks.signing_secrets set is_current = true, promote_at = null
where merchant_id = $1 and environment = $2 and id = $3`;

/** A merchant's secrets, of one environment or of both. */
export const findSecrets = (
  client: Pool | PoolClient,
  merchantId: string,
  environment: Environment | undefined,
): Promise<StoredSecret[]> =>
  runStatement(client, { text: select, values: [merchantId, environment ?? null] });

/** Owners of next secrets whose promotion time is at or before `at`. */
export const findDue = (pool: Pool, at: Date, limit: number): Promise<SecretOwner[]> =>
  runStatement(pool, {
    text: `select merchant_id as "merchantId", environment from webhooks.signing_secrets where promote_at <= $1 limit $2`,
    values: [at, limit],
  });

/** Changes the secrets of one owner. Concurrent changes wait, also in other processes. */
export function changeSecrets<T>(
  pool: Pool,
  { merchantId, environment }: SecretOwner,
  change: (client: PoolClient, rows: readonly StoredSecret[]) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, [], async (client) => {
    await runStatement(client, { text: lockOwner, values: [merchantId, environment] });
    return change(client, await findSecrets(client, merchantId, environment));
  });
}

export async function insertSecret(client: PoolClient, row: StoredSecret): Promise<void> {
  const { merchantId, environment, id, isCurrent, keyId, sealed, ending, shown, createdAt, promoteAt } = row;
  const values = [merchantId, environment, id, isCurrent, keyId, sealed, ending, shown, createdAt, promoteAt];
  await runStatement(client, { text: insert, values });
}

/** Removes the current secret, the next one, or both. */
export async function removeSecrets(
  client: PoolClient,
  { merchantId, environment }: SecretOwner,
  which: { readonly current: boolean; readonly next: boolean },
): Promise<void> {
  const states = [...(which.current ? [true] : []), ...(which.next ? [false] : [])];
  await runStatement(client, { text: remove, values: [merchantId, environment, states] });
}

/** Makes the next secret the current one, and deletes the previous one. */
export async function makeCurrent(client: PoolClient, next: StoredSecret): Promise<StoredSecret> {
  await removeSecrets(client, next, { current: true, next: false });
  await runStatement(client, { text: promote, values: [next.merchantId, next.environment, next.id] });
  return { ...next, isCurrent: true, promoteAt: null };
}
