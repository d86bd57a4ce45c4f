import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import {
  WalletBreakerState,
  WalletHealth,
  WalletStatusService,
  WalletWorkKind,
} from '../../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import type { ReportedWalletStatus } from '../../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import { directPayment } from '../../support/order-requests.ts';
import { demoWallets } from '../../support/simulated-wallets.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

let stack: Stack | undefined;
afterEach(() => stack?.stop());

async function until(
  running: Stack,
  what: string,
  is: (status: ReportedWalletStatus) => boolean,
): Promise<ReportedWalletStatus> {
  const statuses = running.client(WalletStatusService, 'dashboard');
  return waitUntil(what, async () => {
    const all = await statuses.listWalletStatuses({ environment: Environment.SANDBOX });
    return all.statuses.find((each) => each.status?.wallet === 'walleta' && is(each));
  });
}

test('a wallet is available, its calls are counted, and the report of an exited process is stale', async () => {
  const running = await startStack({ facades: 0, wallets: 1 });
  stack = running;
  const { id } = await running.createMerchant();
  await running
    .client(OrderService, 'operator')
    .startDirectPayment(directPayment({ merchantId: id, phone: '251900000000' }));

  const up = await until(running, 'calls are told of', ({ status }) => (status?.calls ?? 0) > 0);
  await running.wallets[0]!.stop();
  const database = new pg.Client({ connectionString: running.databaseUrl });
  await database.connect();
  await database.query(`update core.wallet_statuses set reported_at = reported_at - interval '2 minutes'`);
  await database.end();
  const gone = await until(running, 'the report is stale', ({ stale }) => stale);

  expect(up.stale).toBe(false);
  expect(up.status).toMatchObject({
    health: WalletHealth.UP,
    healthDetail: '',
    breaker: WalletBreakerState.CLOSED,
    failures: 0,
    places: 64,
    work: [
      { kind: WalletWorkKind.PAYMENTS, inFlight: 0, maxInFlight: 32 },
      { kind: WalletWorkKind.REVERSALS, inFlight: 0, maxInFlight: 32 },
    ],
  });
  expect(up.status?.latencyP50).toBeDefined();
  expect(gone.instance).toBe(up.instance);
});

test('a wallet that cannot be reached is down', async () => {
  const settings = { GATEHOUSE_WALLETS: demoWallets('http://127.0.0.1:9') };
  stack = await startStack({ facades: 0, wallets: 1, settings });

  const down = await until(stack, 'it is down', ({ status }) => status?.health === WalletHealth.DOWN);

  expect(down.status?.healthDetail).not.toBe('');
});
