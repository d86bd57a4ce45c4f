import { expect, test } from '@jest/globals';
import pg from 'pg';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createIndexTask } from '../../../src/webhooks/database/large-indexes.ts';
import { openDatabase } from '../../../src/webhooks/database/database.ts';
import { createDeliveryReader } from '../../../src/webhooks/rpc/delivery-reader.ts';
import { shared, sharedTestDatabase } from '../../support/shared-stack.ts';

// The blocks that PostgreSQL reads for a list, which do not depend on the load of the machine.

const server = sharedTestDatabase();
/** With one connection, because PostgreSQL counts the blocks of a connection when that connection reports them. */
const database = shared(
  () =>
    openDatabase({
      url: server.url,
      poolSize: 1,
      applicationName: 'large indexes',
      logger: createLogger({ process: 'test', instance: 'large indexes', level: 'silent' }),
    }),
  (opened) => opened.close(),
);
const client = shared(
  async () => {
    const connection = new pg.Client({ connectionString: server.url });
    await connection.connect();
    return connection;
  },
  (connection) => connection.end(),
);

const anyDelivery = {
  states: [],
  orderNumber: undefined,
  orderId: undefined,
  endpoint: undefined,
  webhookEndpointId: undefined,
  createdFrom: undefined,
  createdTo: undefined,
  beforeId: undefined,
};

async function blocksSoFar(): Promise<number> {
  for (const connection of [client, database.pool])
    await connection.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query<{ count: number }>(
    `select sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))::int
       as count
     from pg_statio_user_tables where schemaname = 'webhooks'`,
  );
  return rows[0]?.count ?? 0;
}

test('a list of the sandbox reads one page, however many newer deliveries production has', async () => {
  const merchantId = newRandomId('mer', new Date());
  await client.query('alter table webhooks.deliveries set (autovacuum_enabled = false)');
  await client.query(
    `insert into webhooks.lanes (merchant_id, environment, endpoint, created_at)
     values ($1, 'SANDBOX', 'https://shop.example', now()), ($1, 'PRODUCTION', 'https://shop.example', now())`,
    [merchantId],
  );
  await client.query(
    `insert into webhooks.deliveries (merchant_id, id, environment, endpoint, event_id, event_type, order_id, order_number, sequence,
       url, body, state, round_started_at, created_at, delivered_at)
     select $1, 'whd_' || lpad(n::text, 26, '0'), case when n <= 20 then 'SANDBOX' else 'PRODUCTION' end::webhooks.environment,
       'https://shop.example', 'evt_' || n, 'order.completed', 'ord_' || n, 'A-' || n, 1, 'https://shop.example/hook', '{}', 'DELIVERED',
       now(), now(), now()
     from generate_series(1, 50000) n`,
    [merchantId],
  );
  await client.query('vacuum analyze webhooks.deliveries, webhooks.lanes');
  // What the tests' template has.
  await client.query('drop index webhooks.deliveries_environment');
  const { list } = createDeliveryReader(database.pool);
  const read = async () => {
    const before = await blocksSoFar();
    const found = await list({ ...anyDelivery, merchantId, environment: 'SANDBOX', limit: 51 });
    return { ids: found.map(({ id }) => id), blocks: (await blocksSoFar()) - before };
  };

  const without = await read();
  await createIndexTask(database)(new AbortController().signal);
  const withIndex = await read();

  expect(withIndex.ids).toHaveLength(20);
  expect(without.ids).toEqual(withIndex.ids);
  expect(without.blocks).toBeGreaterThan(1_000);
  // For each delivery its row, its lane twice and its attempt twice.
  expect(withIndex.blocks).toBeLessThan(400);
});
