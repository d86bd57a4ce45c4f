import { createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import type { RecordRefundOutcomeRequest } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { createAccountConnectors } from '../../../src/wallets/account-connectors.ts';
import { SharedTokens } from '../../../src/wallets/connector/access-tokens.ts';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { reversalWork } from '../../../src/wallets/wallet-work.ts';
import type { WalletSettings } from '../../../src/wallets/wallet-settings.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { gsmaOfEachTest } from './gsma-subject.ts';

const subject = gsmaOfEachTest();

const settings: WalletSettings = {
  ...{ wallet: 'walleta', environment: 'sandbox', kind: connectorKinds.find(({ name }) => name === 'gsma')! },
  ...{ settings: {}, options: ['walleta_ussd'], currencies: ['ETB'], callbackSources: [] },
  ...{ callbackApiKey: undefined, payerStarted: undefined, maxInFlight: undefined, callTimeoutMs: undefined },
};

// A wallet that cannot be asked about a lost request is sent one only once. So "not sent" must not count as "perhaps sent".
test.each([
  ['its first lease counts as not sent', false, true],
  ['a later lease counts as sent as before', true, false],
])('a refund whose account cannot be used at %s', async (_, sentBefore, notSent) => {
  const recorded: RecordRefundOutcomeRequest[] = [];
  const core = createRouterTransport(({ service }) => {
    service(MerchantWalletService, {
      getWalletAccountSettings() {
        throw rpcError('WALLET_ACCOUNT_NOT_FOUND', 'the merchant has no such account');
      },
    });
    service(RefundService, {
      leaseRefunds: () => ({
        refunds: [{ leaseId: 'lease', sentBefore, walletAccountId: 'wac_1', refund: { refundId: 'rfd_1' } }],
      }),
      recordRefundOutcome(request) {
        recorded.push(request);
        return {};
      },
    });
    service(StrayPaymentService, { leaseReversals: () => ({}) });
  });
  const accounts = createAccountConnectors({
    client: createClient(MerchantWalletService, core),
    settings,
    options: {
      ...{ callbackBaseUrl: () => '', currencies: ['ETB'], maxConnections: 1, now: () => new Date() },
      timeouts: { connectMs: 5_000, callMs: 20_000 },
      sharedTokens: new SharedTokens(),
    },
    ...{ maxIdle: 1, idleMs: 60_000, monotonicMs: () => performance.now() },
  });
  const work = reversalWork({
    ...{ wallet: 'walleta', environment: Environment.SANDBOX, paymentOptions: ['walleta_ussd'] },
    ...{ connector: subject.connector, accounts, logger: pino({ level: 'silent' }), maxInFlight: 1 },
    payments: createClient(PaymentAttemptService, core),
    strayPayments: createClient(StrayPaymentService, core),
    refunds: createClient(RefundService, core),
    tokens: createCallbackTokens(Buffer.alloc(32, 7), 'walleta-sandbox'),
    now: () => new Date(),
    newRequestId: () => 'request',
    stop: new AbortController().signal,
  });
  const { items } = await work.lease(1);

  await Promise.all(items.map((item) => work.serve(item)));
  await accounts.close();

  expect(recorded.map(({ outcome }) => outcome)).toMatchObject([{ case: 'pending', value: { notSent } }]);
});
