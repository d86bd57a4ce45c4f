import type { Pool, PoolClient } from 'pg';
import { bulkStatement, column, rowList } from '../../platform/database/bulk-statement.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Statement } from '../../platform/database/run-statement.ts';
import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import type { Environment, SecretOwner } from '../domain/delivery.ts';

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

const secrets = `
select merchant_id as "merchantId", environment, endpoint_id as "endpointId", id, is_current as "isCurrent",
  key_id as "keyId", sealed, ending, shown, created_at as "createdAt", promote_at as "promoteAt"
from webhooks.signing_secrets`;

/** Prepared, because the process reads the secrets of each merchant again every few seconds while it sends. */
const select: Statement = {
  name: 'find-signing-secrets',
  text: `${secrets}
where merchant_id = $1 and ($2::webhooks.environment is null or environment = $2) and endpoint_id = $3
order by environment`,
};

/** The name of the lock of a secret's owner. Processes of release 0.1.0 use the same one. */
const ownerLock = (merchantId: string, environment: string, endpointId: string): string =>
  `hashtextextended(concat_ws('|', 'webhooks.signing_secrets', ${merchantId}, ${environment}, nullif(${endpointId}, '')), 0)`;

const lockOwner = `select pg_advisory_xact_lock(${ownerLock('$1::text', '$2::text', '$3::text')})`;

const shareOwners = bulkStatement(
  'share-secret-owners',
  {
    owner: rowList<SecretOwner>({
      merchant_id: column('text', ({ merchantId }) => merchantId),
      environment: column('text', ({ environment }) => environment),
      endpoint_id: column('text', ({ endpointId }) => endpointId),
    }),
  },
  (sql) => `
select pg_advisory_xact_lock_shared(locked.key) from (
  select distinct ${ownerLock('owner.merchant_id', 'owner.environment', 'owner.endpoint_id')} as key from ${sql.owner}
  order by key
) locked`,
);

/**
 * Makes changes of these owners' secrets wait until the transaction ends, and waits for those under way. Several transactions
 * may do so at once. It comes before any lock of a lane, as in a change of secrets.
 */
export const sharingSecrets = (owners: readonly SecretOwner[]): Statement =>
  shareOwners.with({ owner: owners });

const insert = `
insert into webhooks.signing_secrets
  (merchant_id, environment, endpoint_id, id, is_current, key_id, sealed, ending, shown, created_at, promote_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

const remove = `
delete from webhooks.signing_secrets
where merchant_id = $1 and environment = $2 and endpoint_id = $3 and is_current = any($4::boolean[])`;

const promote = `
update webhooks.signing_secrets set is_current = true, promote_at = null
where merchant_id = $1 and environment = $2 and id = $3`;

/**
 * Makes the deliveries due that waited for the first secret. Their schedules count from now on. A
 * transaction that makes a lane wait shares the lock of its owner (`sharingSecrets`). So either it has ended, and this
 * statement sees the lane, or it begins after this transaction and sees the secret.
 */
const wakeWaiting = `
with waiting as (
  select merchant_id, environment, endpoint from webhooks.lanes
  where merchant_id = $1 and environment = $2::webhooks.environment and awaits_secret_since is not null
    and case when $3::text = '' then not (${isWebhookEndpoint('endpoint')}) else endpoint = $3 end
  order by merchant_id, environment, endpoint
  for no key update
)
update webhooks.lanes l
set awaits_secret_since = null, resumed_at = now(),
    next_due_at = least(l.next_due_at, greatest(date_trunc('milliseconds', now()), l.resting_until))
from waiting
where l.merchant_id = waiting.merchant_id and l.environment = waiting.environment and l.endpoint = waiting.endpoint`;

/** The secrets of one environment or of both: of a webhook endpoint, or of orders' webhook_urls. */
export const findSecrets = (
  client: Pool | PoolClient,
  merchantId: string,
  environment: Environment | undefined,
  endpointId: string,
): Promise<StoredSecret[]> =>
  runStatement(client, { ...select, values: [merchantId, environment ?? null, endpointId] });

export const findSecretsOf = (
  client: Pool | PoolClient,
  { merchantId, environment, endpointId }: SecretOwner,
): Promise<StoredSecret[]> => findSecrets(client, merchantId, environment, endpointId);

export const findSecretsOfEndpoints = (
  pool: Pool,
  merchantId: string,
  endpointIds: readonly string[],
): Promise<StoredSecret[]> =>
  runStatement(pool, {
    text: `${secrets} where merchant_id = $1 and endpoint_id = any($2)`,
    values: [merchantId, endpointIds],
  });

/** Owners of next secrets whose promotion time is at or before `at`. */
export const findDue = (pool: Pool, at: Date, limit: number): Promise<SecretOwner[]> =>
  runStatement(pool, {
    text: `
select merchant_id as "merchantId", environment, endpoint_id as "endpointId"
from webhooks.signing_secrets where promote_at <= $1 limit $2`,
    values: [at, limit],
  });

/** Changes the secrets of one owner. Concurrent changes wait, even in other processes. */
export const changeSecrets = <T>(
  pool: Pool,
  owner: SecretOwner,
  change: (client: PoolClient, rows: readonly StoredSecret[]) => Promise<T>,
): Promise<T> => inTransaction(pool, [], async (client) => change(client, await lockSecrets(client, owner)));

/** The secrets of one owner. Until the transaction ends, other changes of them wait. */
export async function lockSecrets(
  client: PoolClient,
  { merchantId, environment, endpointId }: SecretOwner,
): Promise<StoredSecret[]> {
  await runStatement(client, { text: lockOwner, values: [merchantId, environment, endpointId] });
  return findSecrets(client, merchantId, environment, endpointId);
}

/** The webhook endpoint of a secret does not exist any more. */
export class EndpointDeletedError extends Error {}

/**
 * Keeps the owner of a new secret from being deleted until the transaction ends. Comes before any change of secrets, as in the deletion.
 * @throws EndpointDeletedError
 */
export async function keepOwner(client: PoolClient, { merchantId, endpointId }: SecretOwner): Promise<void> {
  if (endpointId === '') return;
  const rows = await runStatement(client, {
    text: 'select from webhooks.webhook_endpoints where merchant_id = $1 and id = $2 and deleted_at is null for share',
    values: [merchantId, endpointId],
  });
  if (rows.length === 0) throw new EndpointDeletedError('the webhook endpoint was deleted');
}

/** Adds a secret. Deliveries that waited for the first one become due. */
export async function insertSecret(client: PoolClient, row: StoredSecret): Promise<void> {
  const { merchantId, environment, endpointId, id, isCurrent, keyId, sealed, ending, shown } = row;
  const owner = [merchantId, environment, endpointId];
  const values = [...owner, id, isCurrent, keyId, sealed, ending, shown, row.createdAt, row.promoteAt];
  await runStatement(client, { text: insert, values });
  await runStatement(client, { text: wakeWaiting, values: owner });
}

/** Removes the current secret, the next one, or both. */
export async function removeSecrets(
  client: PoolClient,
  { merchantId, environment, endpointId }: SecretOwner,
  which: { readonly current: boolean; readonly next: boolean },
): Promise<void> {
  const states = [...(which.current ? [true] : []), ...(which.next ? [false] : [])];
  await runStatement(client, { text: remove, values: [merchantId, environment, endpointId, states] });
}

/** Makes the next secret the current one, and deletes the previous one. */
export async function makeCurrent(client: PoolClient, next: StoredSecret): Promise<StoredSecret> {
  await removeSecrets(client, next, { current: true, next: false });
  await runStatement(client, { text: promote, values: [next.merchantId, next.environment, next.id] });
  return { ...next, isCurrent: true, promoteAt: null };
}
