import { createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { createAccountConnectors } from '../../../src/wallets/account-connectors.ts';
import type { AccountConnectors } from '../../../src/wallets/account-connectors.ts';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { SharedTokens } from '../../../src/wallets/connector/access-tokens.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { reversalWork } from '../../../src/wallets/wallet-work.ts';
import { gsmaOfEachTest, routes, token } from './gsma-subject.ts';
import { json } from './scripted-wallet.ts';
import type { Behaviour, SeenRequest } from './scripted-wallet.ts';

const subject = gsmaOfEachTest();

/** The work on a refund, with the operator's account or with one of the merchant. */
function refundWork(walletAccountId: string, accounts: Pick<AccountConnectors, 'use'>) {
  const payment = { providerTransactionId: 'REF-1', amount: '100.50', currency: 'ETB' };
  const core = createRouterTransport(({ service }) => {
    service(StrayPaymentService, { leaseReversals: () => ({}) });
    service(RefundService, {
      leaseRefunds: () => ({
        refunds: [{ walletAccountId, refund: { refundId: newRandomId('rfd', new Date()), ...payment } }],
      }),
      recordRefundOutcome: () => ({}),
    });
  });
  return reversalWork({
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
}

const noAccounts = { use: () => Promise.reject(new Error('there are no own accounts')) };
const unauthorised = { errorCategory: 'authorisation', errorCode: 'clientAuthorisationError' };

// What a refusal says about the wallet, for its circuit breaker: undefined is nothing.
test.each<[string, boolean | undefined, RegExp, Behaviour]>([
  ['a refused access token', undefined, routes.reverse, json(401, {})],
  ['refused credentials', undefined, routes.token, json(401, unauthorised)],
  ['credentials in a wrong form', undefined, routes.token, json(400, {})],
  ['too many requests for an access token', false, routes.token, json(429, {})],
  ['no access token because of a fault', false, routes.token, json(503, {})],
  ['a fault', false, routes.reverse, json(503, {})],
  ['an accepted request', true, routes.token, json(200, token)],
])("%s of the operator's account counts for the wallet as %s", async (_name, expected, route, behaviour) => {
  subject.wallet.on(route, behaviour);
  const work = refundWork('', noAccounts);
  const { items } = await work.lease(1);

  expect(await Promise.all(items.map((item) => work.serve(item)))).toEqual([expected]);
});

// After a restore, the id of a lost account can be given to other values.
test('an account whose credentials are refused is read again, because it may have other ones', async () => {
  const secretOf = ({ headers }: SeenRequest): string | undefined =>
    Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64')
      .toString()
      .split(':')[1];
  subject.wallet.on(routes.token, (reply) =>
    secretOf(reply.request) === 'right' ? json(200, token)(reply) : json(401, unauthorised)(reply),
  );
  const given = ['wrong', 'right', 'never read'];
  const core = createRouterTransport(({ service }) => {
    service(MerchantWalletService, {
      getWalletAccountSettings: () => ({ wallet: 'walleta', values: { client_secret: given.shift() ?? '' } }),
    });
  });
  const accounts = createAccountConnectors({
    client: createClient(MerchantWalletService, core),
    settings: {
      ...{ wallet: 'walleta', environment: 'sandbox', options: ['walleta_ussd'], currencies: ['ETB'] },
      kind: connectorKinds.find(({ name }) => name === 'gsma')!,
      settings: {
        ...{ base_url: `${subject.wallet.origin}/mm`, client_id: 'shop', client_secret: 's', api_key: 'key' },
        payee: { type: 'accountid', id: '2999' },
      },
      ...{ callbackSources: [], callbackApiKey: undefined, payerStarted: undefined },
      ...{ maxInFlight: undefined, callTimeoutMs: undefined },
    },
    options: {
      ...{ callbackBaseUrl: () => 'https://gatehouse.example', currencies: ['ETB'], maxConnections: 1 },
      ...{ timeouts: { connectMs: 5_000, callMs: 20_000 }, sharedTokens: new SharedTokens() },
      now: () => new Date(),
    },
    ...{ maxIdle: 1, idleMs: 60_000, monotonicMs: () => performance.now() },
  });
  const work = refundWork('wac_1', accounts);
  const serve = async () => {
    const { items } = await work.lease(1);
    return Promise.all(items.map((item) => work.serve(item)));
  };

  const health = [await serve(), await serve(), await serve()];
  await accounts.close();

  expect(health).toEqual([[undefined], [true], [true]]);
  expect(given).toEqual(['never read']);
});
