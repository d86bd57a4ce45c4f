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
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { sharedPaymentDesk } from '../core/payment-desk.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { sharedWalletSide } from './wallet-processes.ts';

/** The first test stops the `wallets` process of the stack. */
const stack = sharedStack({ facades: 0, wallets: 1 });
const desk = sharedPaymentDesk(stack);
const side = sharedWalletSide(stack);
const statuses = sharedClient(stack, WalletStatusService, 'dashboard');
const reports = sharedClient(stack, WalletStatusService, 'wallets');
const environment = Environment.SANDBOX;
const window = { seconds: 300n };

const until = (what: string, is: (status: ReportedWalletStatus) => boolean) =>
  waitUntil(what, async () => {
    const all = await statuses.listWalletStatuses({ environment });
    return all.statuses.find((each) => each.status?.wallet === 'walleta' && is(each));
  });

test('a wallet is available, its calls are counted, and the report of an exited process is stale', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await desk.startDirect({ merchantId, phone: '251900000000' });

  const up = await until('calls are told of, and none is under way', ({ status }) => {
    const isBusy = status?.work.some(({ inFlight }) => inFlight > 0) ?? true;
    return !isBusy && (status?.calls ?? 0) > 0;
  });
  await stack.wallets[0]!.stop();
  await desk.query(`update core.wallet_statuses set reported_at = reported_at - interval '2 minutes'`);
  const gone = await until('the report is stale', ({ stale }) => stale);

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
  const report = (instance: string, ...names: string[]) => {
    const wallets = names.map((wallet) => ({ wallet, environment }));
    return reports.reportWalletStatus({ instance, window, wallets });
  };
  await report('exited', 'first', 'second');
  await report('paused', 'first');
  const age = (instance: string, minutes: number) =>
    desk.query(sql`update core.wallet_statuses
      set reported_at = reported_at - make_interval(mins => ${minutes}) where instance = ${instance}`);
  await age('exited', 16);
  await age('paused', 14);
  await report('started', 'first');

  const { statuses: kept } = await statuses.listWalletStatuses({ environment });
  const named = kept.map(({ instance, status }) => `${status?.wallet} ${instance}`);
  expect(named.filter((name) => /^(first|second) /.test(name))).toEqual([
    'first paused',
    'first started',
    'second exited',
  ]);
});

test('a process reports as many wallets as the file may have, in both environments', async () => {
  const wallets = Array.from({ length: maxWallets }, (_, index) =>
    [Environment.SANDBOX, Environment.PRODUCTION].map((environment) => ({
      wallet: `wallet${index}`,
      environment,
    })),
  ).flat();

  await reports.reportWalletStatus({ instance: 'full', window, wallets });

  const { statuses: listed } = await statuses.listWalletStatuses({});
  expect(listed.filter(({ instance }) => instance === 'full')).toHaveLength(2 * maxWallets);
  const tooMany = [...wallets, { wallet: 'another', environment: Environment.SANDBOX }];
  const refused = reports.reportWalletStatus({ instance: 'full', window, wallets: tooMany });
  expect(await wrongFields(refused)).toBe('wallets');
});

test('a wallet that refuses the credentials of the operator is reported after the first payment', async () => {
  await side.startSimulator();
  const refusing = await side.startWallets({ settings: { WALLETA_CLIENT_SECRET: 'wrong' } });
  const { id: merchantId } = await stack.createMerchant();
  await desk.startDirect({ merchantId, phone: '251900000000' });

  const refused = await until('it is refused', ({ status }) => status?.credentialsRefused === true);

  await refusing.stop();
  expect(refused.status?.breaker).toBe(WalletBreakerState.CLOSED);
});

test('a wallet that cannot be reached is down', async () => {
  const unreachable = { settings: { base_url: 'http://127.0.0.1:9' } };
  await side.startWallets({ walleta: unreachable, walletb: unreachable });

  const down = await until('it is down', ({ status }) => status?.health === WalletHealth.DOWN);

  expect(down.status?.healthDetail).not.toBe('');
});
