import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import type { ConnectRouter } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { checkCore } from '../../../src/cli/doctor/doctor-checks.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  CheckResult,
  CheckSchema,
  DiagnosticsService,
} from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { PayerPaymentService } from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { WalletService } from '../../../src/gen/gatehouse/v1/wallet_service_pb.js';
import {
  WalletBreakerState as Breaker,
  WalletHealth,
  WalletStatusService,
} from '../../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  Health,
} from '../../../src/gen/health/v1/health_pb.js';

const { SANDBOX: sandbox, PRODUCTION: production } = Environment;

/** The findings about a core that serves, and has these services. */
function check(services: (router: ConnectRouter) => void) {
  const transport = createRouterTransport((router) => {
    router.rpc(Health.method.check, () => ({ status: ServingStatus.SERVING }));
    services(router);
  });
  return checkCore({
    address: 'core:50051',
    core: {
      health: createClient(Health, transport),
      diagnostics: createClient(DiagnosticsService, transport),
      wallets: createClient(WalletService, transport),
      walletStatuses: createClient(WalletStatusService, transport),
      payerPayments: createClient(PayerPaymentService, transport),
    },
    now: () => new Date(0),
  });
}
const diagnosis = () => ({ instance: 'core-1', coreTime: { seconds: 0n } });

test('doctor names each wallet without a compared statement, its environment, and the replacement', async () => {
  const findings = await check(({ rpc }) => {
    rpc(DiagnosticsService.method.diagnose, diagnosis);
    rpc(WalletStatusService.method.listWalletStatuses, () => ({}));
    rpc(WalletService.method.listWallets, () => ({
      wallets: [
        { wallet: 'walleta', environments: [sandbox], reconciledEnvironments: [sandbox] },
        { wallet: 'mtn', environments: [sandbox, production], reconciledEnvironments: [] },
        { wallet: 'mpesa', environments: [sandbox, production], reconciledEnvironments: [production] },
      ],
    }));
  });

  const instead =
    "Gatehouse queries each payment until the wallet decides it. Compare the totals of a day with the wallet's portal by hand";
  const found = { subject: 'core core:50051', result: 'ok', code: 'healthy', advice: '' };
  expect(findings.filter(({ check }) => check.endsWith('statement'))).toEqual([
    {
      ...found,
      check: 'mtn statement',
      detail: `not compared in sandbox and production: mtn offers no statement, or its setting reconcile is not true. ${instead}`,
    },
    {
      ...found,
      check: 'mpesa statement',
      detail: `not compared in sandbox: mpesa offers no statement, or its setting reconcile is not true. ${instead}`,
    },
  ]);
});

test('doctor shows a check that a later version of core has added in the words of that core', async () => {
  const words = { name: 'weather', detail: 'it rains', advice: 'wait' };
  const added: number = 999;
  const findings = await check(({ rpc }) => {
    rpc(DiagnosticsService.method.diagnose, () => ({
      coreTime: { seconds: 0n },
      checks: [create(CheckSchema, { ...words, result: CheckResult.FAILED, subject: added, finding: added })],
    }));
  });

  expect(findings).toContainEqual({
    ...{ subject: 'core core:50051', check: 'weather', result: 'failed', code: 'unknown' },
    ...{ detail: 'it rains', advice: 'wait' },
  });
});

test('doctor reports a call about wallets or payments that fails although core answers the diagnosis', async () => {
  const findings = await check(({ rpc }) => {
    rpc(DiagnosticsService.method.diagnose, diagnosis);
    rpc(WalletService.method.listWallets, () => ({}));
  });

  expect(findings.filter(({ result }) => result === 'failed')).toMatchObject([
    { check: 'wallet requests', code: 'unreachable', detail: expect.stringContaining('is not a core') },
    { check: 'payer-started', code: 'unreachable' },
  ]);
});

interface Report {
  readonly wallet?: string;
  readonly environment?: Environment;
  readonly health?: WalletHealth;
  readonly healthDetail?: string;
  readonly breaker?: Breaker;
  readonly credentialsRefused?: boolean;
}

/** The findings about requests to walleta in the sandbox and in production. */
async function requestsOf(
  ...reports: readonly (Report & { readonly stale?: boolean; readonly instance?: string })[]
): Promise<readonly Record<string, unknown>[]> {
  const findings = await check(({ rpc }) => {
    rpc(WalletService.method.listWallets, () => ({
      wallets: [{ wallet: 'walleta', environments: [sandbox, production] }],
    }));
    rpc(WalletStatusService.method.listWalletStatuses, () => ({
      statuses: reports.map(({ stale = false, instance = 'a', ...status }) => ({
        ...{ stale, instance },
        status: { wallet: 'walleta', health: WalletHealth.UP, breaker: Breaker.CLOSED, ...status },
      })),
    }));
  });
  return findings
    .filter(({ check }) => check === 'wallet requests')
    .map(({ result, code, detail }) => ({ result, code, detail }));
}

const works = [{ environment: sandbox }, { environment: production }];

test('doctor says that every wallet gets requests', async () => {
  expect(await requestsOf(...works)).toMatchObject([{ result: 'ok', code: 'healthy' }]);
});

test('doctor fails for a wallet whose circuit is open, with the reason', async () => {
  const open = {
    environment: production,
    health: WalletHealth.DOWN,
    healthDetail: 'ECONNREFUSED',
    breaker: Breaker.OPEN,
  };
  expect(await requestsOf({ environment: sandbox }, open)).toEqual([
    {
      ...{ result: 'failed', code: 'circuit_open' },
      detail:
        'walleta in production keeps failing (ECONNREFUSED), so its circuit is open in every wallets process, and payments wait there',
    },
  ]);
  expect(await requestsOf(...works, { ...open, instance: 'b' })).toMatchObject([
    { result: 'warning', code: 'circuit_open', detail: expect.stringContaining('in some wallets processes') },
  ]);
});

test('doctor warns of a wallet that reports that it does not work, and gets requests', async () => {
  expect(
    await requestsOf({ environment: sandbox }, { environment: production, health: WalletHealth.DOWN }),
  ).toEqual([{ result: 'warning', code: 'down', detail: 'walleta in production does not work' }]);
});

test('doctor fails for a wallet that refuses the credentials of the operator', async () => {
  expect(
    await requestsOf({ environment: sandbox }, { environment: production, credentialsRefused: true }),
  ).toMatchObject([{ result: 'failed', code: 'credentials_refused' }]);
});

test.each([
  [2_000, []],
  [2_001, ["the clock of a is 2 s ahead of the database's"]],
  [-6_000, []],
  [-3_600_000, ["the clock of a is 3600 s behind the database's"]],
])(
  'doctor judges a wallets process whose clock is %i ms ahead, and none that stopped',
  async (aheadMs, details) => {
    const status = { wallet: 'walleta', clockTime: timestampFromMs(10_000_000 + aheadMs) };
    const report = { instance: 'a', reportTime: timestampFromMs(10_000_000), status };
    const findings = await check(({ rpc }) => {
      rpc(WalletService.method.listWallets, () => ({}));
      rpc(WalletStatusService.method.listWalletStatuses, () => ({
        statuses: [
          report,
          report,
          { ...report, instance: 'stopped', stale: true },
          { instance: 'old', status: {} },
        ],
      }));
    });

    expect(findings.flatMap(({ check, detail }) => (check === 'wallets clock' ? [detail] : []))).toEqual(
      details,
    );
  },
);

test('doctor fails for wallets about which no process reports any more, and warns before the first report', async () => {
  const silent =
    'no wallets process reports about walleta in sandbox, walleta in production: payments there wait';
  expect(await requestsOf(...works.map((each) => ({ ...each, stale: true })))).toEqual([
    { result: 'failed', code: 'silent', detail: silent },
  ]);
  expect(await requestsOf()).toEqual([{ result: 'warning', code: 'silent', detail: silent }]);
});
