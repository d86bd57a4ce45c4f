import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { walletStatusTable } from '../../../src/cli/wallet-status-table.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  ReportedWalletStatusSchema,
  WalletBreakerState,
  WalletHealth,
  WalletWorkKind,
} from '../../../src/gen/gatehouse/v1/wallet_status_service_pb.js';

const tableOf = (health: WalletHealth, healthDetail: string): string =>
  walletStatusTable(
    [
      create(ReportedWalletStatusSchema, {
        instance: 'wallets-1',
        status: {
          wallet: 'walleta',
          environment: Environment.SANDBOX,
          breaker: WalletBreakerState.CLOSED,
          health,
          healthDetail,
        },
      }),
    ],
    200,
  );

test.each([
  [
    'of a wallet without a health check is not reported',
    WalletHealth.UNTOLD,
    'no heartbeat',
    'not reported: no heartbeat',
  ],
  ['that is bad comes with its reason', WalletHealth.DOWN, 'ECONNREFUSED', 'down: ECONNREFUSED'],
  ['of a wallet that was not asked yet', WalletHealth.UNSPECIFIED, '', 'not checked yet'],
])('the health %s', (_name, health, detail, shown) => {
  const text = tableOf(health, detail);

  expect(text).toContain(shown);
  expect(text).not.toContain('untold');
});

test.each([
  [
    'each kind of work',
    {
      work: [
        { kind: WalletWorkKind.PAYMENTS, inFlight: 32, maxInFlight: 32 },
        { kind: WalletWorkKind.REVERSALS, inFlight: 0, maxInFlight: 32 },
        { kind: WalletWorkKind.PAYER_PAYMENTS, inFlight: 1, maxInFlight: 32 },
      ],
    },
    ['payments: 32 of 32', 'reversals: 0 of 32', 'payer-started: 1 of 32'],
  ],
  ['the sum that a process of release 0.1.0 reports', { inFlight: 5, places: 64 }, ['5 of 64']],
])('work in progress is shown with its limit: %s', (_name, status, shown) => {
  const text = walletStatusTable([create(ReportedWalletStatusSchema, { status })], 200);

  expect(text.match(/((payments|reversals|payer-started): )?\d+ of \d+/g)).toEqual(shown);
});

test('without reports, the table says what to do', () => {
  expect(walletStatusTable([], 80)).toContain('run: gatehouse doctor');
});
