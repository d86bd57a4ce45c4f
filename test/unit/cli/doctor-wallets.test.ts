import { createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { checkCore } from '../../../src/cli/doctor-checks.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { DiagnosticsService } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { PayerPaymentService } from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { WalletService } from '../../../src/gen/gatehouse/v1/wallet_service_pb.js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  Health,
} from '../../../src/gen/health/v1/health_pb.js';

const { SANDBOX: sandbox, PRODUCTION: production } = Environment;

test('doctor names each wallet without a compared statement, its environment, and the replacement', async () => {
  const transport = createRouterTransport(({ rpc }) => {
    rpc(Health.method.check, () => ({ status: ServingStatus.SERVING }));
    rpc(DiagnosticsService.method.diagnose, () => ({ instance: 'core-1', coreTime: { seconds: 0n } }));
    rpc(WalletService.method.listWallets, () => ({
      wallets: [
        { wallet: 'walleta', environments: [sandbox], reconciledEnvironments: [sandbox] },
        { wallet: 'mtn', environments: [sandbox, production], reconciledEnvironments: [] },
        { wallet: 'mpesa', environments: [sandbox, production], reconciledEnvironments: [production] },
      ],
    }));
  });
  const core = {
    health: createClient(Health, transport),
    diagnostics: createClient(DiagnosticsService, transport),
    wallets: createClient(WalletService, transport),
    payerPayments: createClient(PayerPaymentService, transport),
  };

  const findings = await checkCore({ address: 'core:50051', core, now: () => new Date(0) });

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
