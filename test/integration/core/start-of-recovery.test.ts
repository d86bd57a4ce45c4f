import { afterEach, expect, test } from '@jest/globals';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

const stack = sharedStack({ cores: 1, facades: 0 });
const connection = sharedConnection(() => stack.databaseUrl);
const holder = sharedConnection(() => stack.databaseUrl);
let core: GatehouseProcess | undefined;

afterEach(async () => {
  await core?.stop();
  await holder.query('rollback');
});

test('a core whose recovery takes long answers calls, takes no payments, and goes on with it', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await stack
    .client(OrderService, 'writer')
    .registerOrder(registration({ merchantId, orderNumber: 'known' }));
  await waitUntil('the event is in the stream', async () => {
    const { rowCount } = await connection.query(`
      select from core.order_events e, core.event_relay r where (e.xid, e.position) <= (r.xid, r.position)`);
    return rowCount === 1;
  });
  await stack.cores[0]?.stop();
  await connection.query("update core.database_life set home = 'another server'");
  // Stands for a long stream: the recovery waits here after it has read the first events.
  await holder.query('set idle_in_transaction_session_timeout = 0');
  await holder.query('begin; lock table core.recovery_merchants in access exclusive mode');

  core = await stack.startCore();
  const transport = createGrpcTransport({
    addresses: [String(core.ready['grpc'])],
    token: stack.tokens.writer,
  });
  const orders = createClient(OrderService, transport);
  const known = await orders.registerOrder(registration({ merchantId, orderNumber: 'known' }));
  const unknown = await failureOf(orders.registerOrder(registration({ merchantId, orderNumber: 'new' })));
  const streamState = async () =>
    (await connection.query<{ stream: string }>('select stream from core.recoveries')).rows;
  const meanwhile = await streamState();
  await holder.query('rollback');
  await waitUntil('the stream is read', async () => (await streamState())[0]?.stream === 'COMPLETE');
  transport.close();

  expect(known.repeated).toBe(true);
  expect(unknown.reason).toBe('RECOVERING');
  expect(meanwhile).toEqual([{ stream: 'WAITING' }]);
});
