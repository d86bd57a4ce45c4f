import { expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  WalletBreakerState,
  WalletHealth,
  WalletStatusService,
  WalletWorkKind,
} from '../../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import type { ReportedWalletStatus } from '../../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import { maxWallets } from '../../../src/contract/wallets-file/wallets-schema.ts';
import { wrongFields } from '../../support/rpc-failure.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';
import { demoWallets } from '../../support/simulated-wallets.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { openPaymentDesk } from '../core/payment-desk.ts';
import { waitUntil } from '../../support/wait-until.ts';

const closers = closersOfEachTest();
async function openStack(settings: Readonly<Record<string, string>> = {}): Promise<Stack> {
  const stack = await startStack({ facades: 0, wallets: 1, settings });
  closers.push(stack.stop);
  return stack;
}

function until(stack: Stack, what: string, is: (status: ReportedWalletStatus) => boolean) {
  const statuses = stack.client(WalletStatusService, 'dashboard');
  return waitUntil(what, async () => {
    const all = await statuses.listWalletStatuses({ environment: Environment.SANDBOX });
    return all.statuses.find((each) => each.status?.wallet === 'walleta' && is(each));
  });
}

test('a wallet is available, its calls are counted, and the report of an exited process is stale', async () => {
  const stack = await openStack();
  const desk = await openPaymentDesk(stack);
  closers.push(desk.close);
  const { id: merchantId } = await stack.createMerchant();
  await desk.startDirect({ merchantId, phone: '251900000000' });

  const up = await until(stack, 'calls are told of, and none is under way', ({ status }) => {
    const isBusy = status?.work.some(({ inFlight }) => inFlight > 0) ?? true;
    return !isBusy && (status?.calls ?? 0) > 0;
  });
  await stack.wallets[0]!.stop();
  await desk.query(`update core.wallet_statuses set reported_at = reported_at - interval '2 minutes'`);
  const gone = await until(stack, 'the report is stale', ({ stale }) => stale);

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

test('the reports of an exited process are kept until another one has reported the wallet for a while', async () => {
  const stack = await openStack();
  const desk = await openPaymentDesk(stack);
  closers.push(desk.close);
  const statuses = stack.client(WalletStatusService, 'wallets');
  const environment = Environment.SANDBOX;
  const window = { seconds: 300n };
  const report = (instance: string, ...wallets: string[]) =>
    statuses.reportWalletStatus({
      instance,
      window,
      wallets: wallets.map((wallet) => ({ wallet, environment })),
    });
  await stack.wallets[0]!.stop();
  await report('exited', 'first', 'second');
  await report('paused', 'first');
  const age = (instance: string, minutes: number) =>
    desk.query(
      `update core.wallet_statuses set reported_at = reported_at - make_interval(mins => $1) where instance = $2`,
      [minutes, instance],
    );
  await age('exited', 16);
  await age('paused', 14);
  await report('started', 'first');

  const { statuses: kept } = await stack
    .client(WalletStatusService, 'dashboard')
    .listWalletStatuses({ environment });
  expect(
    kept
      .filter(({ status }) => /^(first|second)$/.test(status?.wallet ?? ''))
      .map(({ instance, status }) => `${status?.wallet} ${instance}`),
  ).toEqual(['first paused', 'first started', 'second exited']);
});

test('a process reports as many wallets as the file may have, in both environments', async () => {
  const stack = await openStack();
  const statuses = stack.client(WalletStatusService, 'wallets');
  const window = { seconds: 300n };
  const wallets = Array.from({ length: maxWallets }, (_, index) =>
    [Environment.SANDBOX, Environment.PRODUCTION].map((environment) => ({
      wallet: `wallet${index}`,
      environment,
    })),
  ).flat();

  await statuses.reportWalletStatus({ instance: 'full', window, wallets });

  const { statuses: listed } = await stack.client(WalletStatusService, 'dashboard').listWalletStatuses({});
  expect(listed.filter(({ instance }) => instance === 'full')).toHaveLength(2 * maxWallets);
  const tooMany = [...wallets, { wallet: 'another', environment: Environment.SANDBOX }];
  expect(await wrongFields(statuses.reportWalletStatus({ instance: 'full', window, wallets: tooMany }))).toBe(
    'wallets',
  );
});

test('a wallet that cannot be reached is down', async () => {
  const stack = await openStack({ GATEHOUSE_WALLETS: demoWallets('http://127.0.0.1:9') });

  const down = await until(stack, 'it is down', ({ status }) => status?.health === WalletHealth.DOWN);

  expect(down.status?.healthDetail).not.toBe('');
});
