import { expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { createIndexTask } from '../../../src/webhooks/database/large-indexes.ts';
import { createDeliveryReader } from '../../../src/webhooks/rpc/delivery-reader.ts';
import { openCountedWebhooksDatabase } from '../../support/counted-database.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

const closers = closersOfEachTest();

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

test('a list of the sandbox reads one page, however many newer deliveries production has', async () => {
  const { database, client, counted, close } = await openCountedWebhooksDatabase('large indexes');
  closers.push(close);
  const merchantId = newRandomId('mer', new Date());
  await client.query(sql`insert into webhooks.lanes (merchant_id, environment, endpoint, created_at)
    values (${merchantId}, 'SANDBOX', 'https://shop.example', now()),
      (${merchantId}, 'PRODUCTION', 'https://shop.example', now())`);
  await client.query(sql`
    insert into webhooks.deliveries (merchant_id, id, environment, endpoint, event_id, event_type, order_id, order_number, sequence,
      url, body, state, round_started_at, created_at, delivered_at)
    select ${merchantId}, 'whd_' || lpad(n::text, 26, '0'),
      case when n <= 20 then 'SANDBOX' else 'PRODUCTION' end::webhooks.environment,
      'https://shop.example', 'evt_' || n, 'order.completed', 'ord_' || n, 'A-' || n, 1, 'https://shop.example/hook', '{}', 'DELIVERED',
      now(), now(), now()
    from generate_series(1, 50000) n`);
  await client.query('vacuum analyze webhooks.deliveries, webhooks.lanes');
  // The template of the tests has this index.
  await client.query('drop index webhooks.deliveries_environment');
  const { list } = createDeliveryReader(database.pool);
  const read = async () => {
    const filter = { ...anyDelivery, merchantId, environment: 'SANDBOX', limit: 51 } as const;
    const { result, blocks } = await counted(() => list(filter));
    return { ids: result.map(({ id }) => id), blocks };
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
