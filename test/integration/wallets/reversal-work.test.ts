import { lookup } from 'node:dns';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import type { RecordRefundOutcomeRequest } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { createAccountConnectors } from '../../../src/wallets/account-connectors.ts';
import type { AccountConnectors } from '../../../src/wallets/account-connectors.ts';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { SharedTokens } from '../../../src/wallets/connector/access-tokens.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { reversalWork } from '../../../src/wallets/reversal-work.ts';
import { gsmaOfEachTest, routes, token } from './gsma-subject.ts';
import { json } from './scripted-wallet.ts';
import type { Behaviour, SeenRequest } from './scripted-wallet.ts';

const subject = gsmaOfEachTest();

const noAccounts = { use: () => Promise.reject(new Error('there are no own accounts')) };

/** The work on refunds and reversals of a GSMA wallet, at a core that the test imitates. */
const workAt = (core: Transport, accounts: Pick<AccountConnectors, 'use'> = noAccounts) =>
  reversalWork({
    ...{ wallet: 'walleta', environment: Environment.SANDBOX, paymentOptions: ['walleta_ussd'] },
    ...{ connector: subject.connector, accounts, logger: pino({ level: 'silent' }), maxInFlight: 2 },
    payments: createClient(PaymentAttemptService, core),
    strayPayments: createClient(StrayPaymentService, core),
    refunds: createClient(RefundService, core),
    tokens: createCallbackTokens(Buffer.alloc(32, 7), 'walleta-sandbox'),
    now: () => new Date(),
    newRequestId: () => 'request',
    stop: new AbortController().signal,
  });

/** The merchants' own accounts at that wallet, with these settings of the operator. */
const accountsAt = (core: Transport, settings: Readonly<Record<string, unknown>> = {}) =>
  createAccountConnectors({
    client: createClient(MerchantWalletService, core),
    settings: {
      ...{
        wallet: 'walleta',
        environment: 'sandbox',
        kind: connectorKinds.find(({ name }) => name === 'gsma')!,
      },
      ...{ settings, options: ['walleta_ussd'], currencies: ['ETB'], callbackSources: [] },
      ...{
        callbackApiKey: undefined,
        payerStarted: undefined,
        maxInFlight: undefined,
        callTimeoutMs: undefined,
      },
    },
    options: {
      ...{
        callbackBaseUrl: () => 'https://gatehouse.example',
        currencies: ['ETB'],
        maxConnections: 1,
        lookup,
      },
      ...{ timeouts: { connectMs: 5_000, callMs: 20_000 }, sharedTokens: new SharedTokens() },
      now: () => new Date(),
    },
    ...{ maxIdle: 1, idleMs: 60_000, monotonicMs: () => performance.now() },
  });

test('the wait that a wallet requests is reported with the outcome of a reversal and of a refund', async () => {
  subject.wallet.on(routes.reverse, json(429, {}, { 'retry-after': '90' }));
  const recorded: unknown[] = [];
  const strayPaymentId = newRandomId('stp', new Date());
  const payment = { providerTransactionId: 'REF-1', amount: '100.50', currency: 'ETB' };
  const core = createRouterTransport(({ service }) => {
    service(StrayPaymentService, {
      leaseReversals: () => ({
        reversals: [
          { leaseId: 'lease', reversalId: strayPaymentId, strayPayment: { strayPaymentId, ...payment } },
        ],
      }),
      recordReversalOutcome({ outcome }) {
        recorded.push(outcome);
        return {};
      },
    });
    service(RefundService, {
      leaseRefunds: () => ({
        refunds: [{ leaseId: 'lease', refund: { refundId: newRandomId('rfd', new Date()), ...payment } }],
      }),
      recordRefundOutcome({ outcome }) {
        recorded.push(outcome);
        return {};
      },
    });
  });
  const work = workAt(core);
  const { items } = await work.lease(2);

  await Promise.all(items.map((item) => work.serve(item, performance.now())));

  const waiting = { case: 'pending', value: { retryAfter: { seconds: 90n } } };
  expect(recorded).toMatchObject([waiting, waiting]);
});

test('a refund whose lease came too late is not sent, because another process may have it', async () => {
  const core = createRouterTransport(({ service }) => {
    service(StrayPaymentService, { leaseReversals: () => ({}) });
    service(RefundService, {
      leaseRefunds: () => ({ refunds: [{ refund: { refundId: newRandomId('rfd', new Date()) } }] }),
    });
  });
  const work = workAt(core);
  const { items } = await work.lease(1);

  const [served] = await Promise.allSettled(
    items.map((item) => work.serve(item, performance.now() - 40_000)),
  );

  expect(served).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringMatching(/^the lease came too late/) },
  });
  expect(subject.wallet.requestsTo(routes.reverse)).toEqual([]);
});

// A merchant can create thousands of refunds at once, and the wallet can be slow to answer.
test('refunds of one merchant leave slots to reversals of other merchants', async () => {
  subject.wallet.on(routes.reverse, json(503, {}));
  const [flooding, other] = [newRandomId('mer', new Date()), newRandomId('mer', new Date())];
  const core = createRouterTransport(({ service }) => {
    service(RefundService, {
      leaseRefunds: ({ maxRefunds, exceptMerchantIds }) => ({
        refunds: exceptMerchantIds.includes(flooding)
          ? []
          : Array.from({ length: maxRefunds }, () => ({
              refund: { merchantId: flooding, refundId: newRandomId('rfd', new Date()) },
            })),
      }),
      recordRefundOutcome: () => ({}),
    });
    service(StrayPaymentService, {
      leaseReversals: () => ({ reversals: [{ strayPayment: { merchantId: other } }] }),
      recordReversalOutcome: () => ({}),
    });
  });
  const work = workAt(core);
  const merchantsOf = (items: readonly { readonly task: { readonly merchantId: string } }[]) =>
    items.map(({ task }) => task.merchantId);

  const { items } = await work.lease(2);
  const { items: noMore } = await work.lease(1);
  await Promise.all([...items, ...noMore].map((item) => work.serve(item, performance.now())));
  const { items: next } = await work.lease(2);

  expect(merchantsOf(items)).toEqual([flooding, other]);
  expect(merchantsOf(noMore)).toEqual([other]);
  expect(merchantsOf(next)).toContain(flooding);
});

const away = () => new ConnectError('the database does not answer', Code.Unavailable);
const removed = () => rpcError('WALLET_ACCOUNT_NOT_FOUND', 'the merchant has no such account');

// A wallet that cannot be asked about a lost request is sent one only once. So "not sent" must not count as "perhaps sent".
test.each([
  ['is removed, at the first lease, counts as not sent', false, true, removed],
  ['is removed, at a later lease, counts as sent as before', true, false, removed],
  ['core does not give, at the first lease, counts as not sent', false, true, away],
])('while core is unavailable, a refund whose account %s', async (_, sentBefore, notSent, failure) => {
  const recorded: RecordRefundOutcomeRequest[] = [];
  let calls = 0;
  const core = createRouterTransport(({ service }) => {
    service(MerchantWalletService, {
      getWalletAccountSettings() {
        throw failure();
      },
    });
    service(RefundService, {
      leaseRefunds: () => ({
        refunds: [{ leaseId: 'lease', sentBefore, walletAccountId: 'wac_1', refund: { refundId: 'rfd_1' } }],
      }),
      recordRefundOutcome(request) {
        calls += 1;
        if (calls === 1) throw away();
        recorded.push(request);
        return {};
      },
    });
    service(StrayPaymentService, {
      leaseReversals() {
        throw away();
      },
    });
  });
  const accounts = accountsAt(core);
  const work = workAt(core, accounts);
  const { items } = await work.lease(2);

  await Promise.all(items.map((item) => work.serve(item, performance.now())));
  await accounts.close();

  expect(recorded.map(({ outcome }) => outcome)).toMatchObject([{ case: 'pending', value: { notSent } }]);
});

/** The work on a refund, with the operator's account or with one of the merchant. */
function refundWork(walletAccountId: string, accounts?: AccountConnectors) {
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
  return workAt(core, accounts);
}

const unauthorised = { errorCategory: 'authorisation', errorCode: 'clientAuthorisationError' };

// A refusal counts for the circuit breaker as a success (true), as a failure (false) or not at all (undefined).
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
  const work = refundWork('');
  const { items } = await work.lease(1);

  expect(await Promise.all(items.map((item) => work.serve(item, performance.now())))).toEqual([expected]);
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
  const accounts = accountsAt(core, {
    ...{ base_url: `${subject.wallet.origin}/mm`, client_id: 'shop', client_secret: 's', api_key: 'key' },
    payee: { type: 'accountid', id: '2999' },
  });
  const work = refundWork('wac_1', accounts);
  const serve = async () => {
    const { items } = await work.lease(1);
    return Promise.all(items.map((item) => work.serve(item, performance.now())));
  };

  const health = [await serve(), await serve(), await serve()];
  await accounts.close();

  expect(health).toEqual([[undefined], [true], [true]]);
  expect(given).toEqual(['never read']);
});
