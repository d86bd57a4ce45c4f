import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/delivery.ts';
import { typesOf } from '../domain/webhook-endpoint.ts';
import type { SubscribedSince, SubscribedType } from '../domain/webhook-endpoint.ts';

/** A webhook endpoint of a merchant. */
export interface WebhookEndpoint {
  readonly merchantId: string;
  /** "whe_…" */
  readonly id: string;
  readonly environment: Environment;
  readonly url: string;
  readonly description: string;
  /** Empty: every type, including types of later versions. */
  readonly eventTypes: readonly SubscribedType[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface EndpointKey {
  readonly merchantId: string;
  /** "whe_…" */
  readonly endpointId: string;
}

/** An endpoint with the time since when it receives each type. */
export interface WebhookEndpointRow extends Omit<WebhookEndpoint, 'eventTypes'> {
  readonly since: SubscribedSince;
}

interface Row extends Omit<WebhookEndpointRow, 'since'>, Record<string, unknown> {
  readonly types: readonly SubscribedType[];
  readonly sinces: readonly Date[];
}

const columns = `
  e.merchant_id as "merchantId", e.id, e.environment, e.url, e.description, e.created_at as "createdAt",
  e.updated_at as "updatedAt", t.types, t.sinces`;

const types = `
cross join lateral (
  select coalesce(array_agg(event_type), '{}') as types, coalesce(array_agg(since), '{}') as sinces
  from webhooks.webhook_endpoint_types
  where merchant_id = e.merchant_id and endpoint_id = e.id
) t`;

const list = `
select ${columns} from webhooks.webhook_endpoints e ${types}
where e.merchant_id = $1 and ($2::webhooks.environment is null or e.environment = $2) and e.deleted_at is null
order by e.environment, e.id`;

const find = `
select ${columns} from webhooks.webhook_endpoints e ${types}
where e.merchant_id = $1 and e.id = $2 and e.deleted_at is null`;

/** The intake of events locks these rows too. So it and a deletion never read the row at the same time. */
const lock = `
select id from webhooks.webhook_endpoints where merchant_id = $1 and id = $2 and deleted_at is null for update`;

const lockMerchant = `
select pg_advisory_xact_lock(hashtextextended(concat_ws('|', 'webhooks.webhook_endpoints', $1::text, $2::text), 0))`;

const rowOf = ({ types: names, sinces, ...row }: Row): WebhookEndpointRow => ({
  ...row,
  since: new Map(names.map((type, index) => [type, sinces[index] ?? row.createdAt])),
});

export const endpointOfRow = ({ since, ...row }: WebhookEndpointRow): WebhookEndpoint => ({
  ...row,
  eventTypes: typesOf(since),
});

/** Sandbox before production, each oldest first. */
export async function listWebhookEndpoints(
  client: Pool | PoolClient,
  merchantId: string,
  environment: Environment | undefined,
): Promise<WebhookEndpoint[]> {
  const rows = await runStatement<Row>(client, { text: list, values: [merchantId, environment ?? null] });
  return rows.map((row) => endpointOfRow(rowOf(row)));
}

/** Undefined when the merchant has no such endpoint, or has deleted it. */
export async function findWebhookEndpoint(
  client: Pool | PoolClient,
  { merchantId, endpointId }: EndpointKey,
): Promise<WebhookEndpointRow | undefined> {
  const [row] = await runStatement<Row>(client, { text: find, values: [merchantId, endpointId] });
  return row === undefined ? undefined : rowOf(row);
}

/** Locks an endpoint until the transaction ends, and reads it. */
export async function lockWebhookEndpoint(
  client: PoolClient,
  key: EndpointKey,
): Promise<WebhookEndpointRow | undefined> {
  const locked = await runStatement(client, { text: lock, values: [key.merchantId, key.endpointId] });
  return locked.length === 0 ? undefined : findWebhookEndpoint(client, key);
}

/** Until the transaction ends, no other transaction creates an endpoint of the merchant there, or changes a URL. */
export async function lockEndpointsOf(
  client: PoolClient,
  merchantId: string,
  environment: Environment,
): Promise<readonly WebhookEndpoint[]> {
  await runStatement(client, { text: lockMerchant, values: [merchantId, environment] });
  return listWebhookEndpoints(client, merchantId, environment);
}

/** Adds an endpoint and its lane. */
export async function insertWebhookEndpoint(client: PoolClient, row: WebhookEndpointRow): Promise<void> {
  const { merchantId, id, environment, url, description, createdAt } = row;
  await runStatement(client, {
    text: `
insert into webhooks.webhook_endpoints (merchant_id, id, environment, url, description, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $6)`,
    values: [merchantId, id, environment, url, description, createdAt],
  });
  await writeTypes(client, row);
  await runStatement(client, {
    text: 'insert into webhooks.lanes (merchant_id, environment, endpoint, created_at) values ($1, $2, $3, $4)',
    values: [merchantId, environment, id, createdAt],
  });
}

/** Writes URL, description and types. */
export async function writeWebhookEndpoint(client: PoolClient, row: WebhookEndpointRow): Promise<void> {
  const { merchantId, id, url, description, updatedAt } = row;
  await runStatement(client, {
    text: `
update webhooks.webhook_endpoints set url = $3, description = $4, updated_at = $5 where merchant_id = $1 and id = $2`,
    values: [merchantId, id, url, description, updatedAt],
  });
  await writeTypes(client, row);
}

async function writeTypes(client: PoolClient, { merchantId, id, since }: WebhookEndpointRow): Promise<void> {
  await runStatement(client, {
    text: 'delete from webhooks.webhook_endpoint_types where merchant_id = $1 and endpoint_id = $2',
    values: [merchantId, id],
  });
  await runStatement(client, {
    text: `
insert into webhooks.webhook_endpoint_types (merchant_id, endpoint_id, event_type, since)
select $1, $2, event_type, since from unnest($3::text[], $4::timestamptz[]) as type (event_type, since)`,
    values: [merchantId, id, [...since.keys()], [...since.values()]],
  });
}

/** Marks an endpoint as deleted. Its lane is not changed: the caller pauses it, so that nothing more is sent. */
export async function markDeleted(client: PoolClient, key: EndpointKey, at: Date): Promise<void> {
  await runStatement(client, {
    text: 'update webhooks.webhook_endpoints set deleted_at = $3 where merchant_id = $1 and id = $2',
    values: [key.merchantId, key.endpointId, at],
  });
}
