import { createHash } from 'node:crypto';
import { timestampNow } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import type { IdPrefix } from '../../../src/contract/public-id.ts';
import { accessRules } from '../../../src/dashboard/access/access-rules.ts';
import {
  AccountService,
  MemberRole,
  SessionService,
} from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment, PaymentType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { ApiEndpoint, RequestLogService } from '../../../src/gen/gatehouse/v1/request_log_service_pb.js';
import { SettlementOutcome, SettlementService } from '../../../src/gen/gatehouse/v1/settlement_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { DeliveryState } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import type { PageAnswer } from '../../support/customer.ts';
import { makeOperatorsOld } from '../../support/dashboard-users.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { storedId } from '../../support/ids.ts';
import { registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { outcomes, sharedPaymentDesk } from '../core/payment-desk.ts';
import { sessionCookie, sharedDashboardDesk } from './dashboard-desk.ts';

const stack = sharedStack({ facades: 0, dashboards: 1, webhooks: 1 });
const desk = sharedDashboardDesk(stack);
const payments = sharedPaymentDesk(stack);

/** Ids by their names in routes. */
type Ids = Readonly<
  Record<
    | 'accountId'
    | 'apiRequestId'
    | 'attemptId'
    | 'deliveryId'
    | 'endpointId'
    | 'invitedEmail'
    | 'keyId'
    | 'linkId'
    | 'orderId'
    | 'redeliveryId'
    | 'refundId'
    | 'settlementId'
    | 'strayPaymentId'
    | 'userEmail'
    | 'userId',
    string
  >
>;

const environment = Environment.SANDBOX;
const invited = 'invited@shop.example';
let shop: { readonly merchantId: string; readonly owner: DashboardVisitor };
let other: { readonly merchantId: string; readonly owner: DashboardVisitor };
let operator: DashboardVisitor;
/** Ids of the shop's sandbox. */
let ids: Ids;

const accounts = sharedClient(stack, AccountService, 'dashboard');
const attempts = sharedClient(stack, PaymentAttemptService, 'wallets');
const keys = sharedClient(stack, ApiKeyService, 'operator');
const refunds = sharedClient(stack, RefundService, 'operator');
const refundWork = sharedClient(stack, RefundService, 'wallets');
const requestLog = sharedClient(stack, RequestLogService, 'dashboard');
const settlements = sharedClient(stack, SettlementService, 'operator');
const strays = sharedClient(stack, StrayPaymentService, 'operator');
const strayWork = sharedClient(stack, StrayPaymentService, 'wallets');
const walletAccounts = sharedClient(stack, MerchantWalletService, 'operator');

const refused = { case: 'refused', value: { detail: 'no', definite: true } } as const;
const returned = {
  outcome: SettlementOutcome.RETURNED,
  reason: 'The provider answered our case',
  providerReference: 'CASE-7',
};

/** Money of a merchant that its wallet does not return. */
async function refusedStrayPayment(merchantId: string): Promise<string> {
  const payment = await payments.startDirect({ merchantId, orderNumber: 'F-3' });
  const { strayPaymentId } = await payments.settle(payment, outcomes.completed('t-2', '99.00'));
  await payments.recordReversal(await payments.takeReversal(strayPaymentId), refused);
  return strayPaymentId;
}

beforeAll(async () => {
  const open = async () => {
    const { id: merchantId } = await stack.createMerchant();
    return { merchantId, owner: await desk.signedIn(await desk.users.member(merchantId)) };
  };
  [shop, other] = [await open(), await open()];
  operator = await desk.signedIn(await desk.users.operator());
  await makeOperatorsOld(stack);
  const { merchantId, owner } = shop;
  const at = (path: string): string => `/m/${merchantId}/sandbox/${path}`;
  const payment = await payments.startDirect({ merchantId, orderNumber: 'F-1' });
  await payments.settle(payment, outcomes.completed('t-1'));
  const link = await payments.orders.registerOrder(
    registration({ merchantId, orderNumber: 'F-2', paymentType: PaymentType.LINK }),
  );
  const order = { case: 'orderId' as const, value: payment.orderId };
  const { refund } = await refunds.createRefund({
    merchantId,
    environment,
    order,
    refundNumber: 'F-1',
    amount: '1.00',
    reason: 'x',
  });
  const { apiKeys } = await keys.listApiKeys({ merchantId });
  await owner.post(at('webhooks/endpoints'), { url: 'https://shop.example/hooks', description: '' });
  const { webhookEndpoints } = await stack
    .webhookEndpointClient('operator')
    .listWebhookEndpoints({ merchantId, environment });
  const endpointId = webhookEndpoints[0]?.webhookEndpointId ?? '';
  const tested = await owner.post(at(`webhooks/endpoints/${endpointId}/test`));
  await owner.post(at('wallets/walleta/accounts'), {
    'secret-complete': 'yes',
    'value.client_id': 'shoes-and-co',
    'secret.client_secret': 'a client secret',
  });
  const { wallets } = await walletAccounts.listMerchantWallets({ merchantId, environment });
  const strayPaymentId = await refusedStrayPayment(merchantId);
  const { settlement } = await settlements.proposeSettlement({
    ...{ merchantId, subject: { case: 'strayPaymentId', value: strayPaymentId } },
    ...returned,
  });
  const { userId, email } = await desk.users.member(merchantId, MemberRole.DEVELOPER);
  await accounts.inviteUser({ email: invited, merchantId, role: MemberRole.VIEWER });
  const apiRequestId = newRandomId('req', new Date());
  await stack.client(RequestLogService, 'facade').recordApiRequests({
    requests: [
      {
        ...{ apiRequestId, merchantId, environment, requestId: 'r-1', orderNumber: 'F-1' },
        ...{ endpoint: ApiEndpoint.VERIFY, method: 'POST', path: '/api/v1/verify', status: 200 },
        ...{ apiKeyId: newRandomId('key', new Date()), createTime: timestampNow() },
      },
    ],
  });
  const webhooks = stack.webhookClient('operator');
  await webhooks.rotateSigningSecret({ merchantId, environment });
  await webhooks.rotateSigningSecret({ merchantId, environment });
  const { redelivery } = await webhooks.startRedelivery({
    ...{ merchantId, environment, createTimeFrom: timestampNow(), states: [DeliveryState.GIVEN_UP] },
  });
  ids = {
    ...{ strayPaymentId, userId, apiRequestId, userEmail: email, invitedEmail: invited },
    settlementId: settlement?.settlementId ?? '',
    redeliveryId: redelivery?.redeliveryId ?? '',
    attemptId: payment.attemptId,
    orderId: payment.orderId,
    linkId: link.order?.orderId ?? '',
    refundId: refund?.refundId ?? '',
    keyId: apiKeys.find((key) => key.environment === environment)?.apiKeyId ?? '',
    endpointId,
    deliveryId: tested.headers.get('location')?.split('/').at(-1) ?? '',
    accountId: wallets[0]?.accounts[0]?.walletAccountId ?? '',
  };
  const count = async (table: string, where: string): Promise<number> =>
    (await payments.query(`select from webhooks.${table} where ${where}`)).length;
  await waitUntil(
    'the test event was sent',
    async () => (await count('delivery_attempts', `delivery_id = '${ids.deliveryId}'`)) > 0,
  );
  await waitUntil('the audit log is complete', async () => (await count('audit_outbox', 'true')) === 0);
  // No further attempt changes it.
  await payments.query(sql`
    update webhooks.deliveries set state = 'DELIVERED', due_at = null where id = ${ids.deliveryId}`);
});

/** Ids of the same kinds that nothing has. */
const unknownIds = (): Ids =>
  Object.fromEntries(
    Object.entries(ids).map(([name, id]) => [
      name,
      name.endsWith('Email')
        ? `nobody-${name.toLowerCase()}@shop.example`
        : newRandomId(id.split('_')[0] as IdPrefix, new Date()),
    ]),
  ) as Ids;

/** Texts that are no ids. */
const malformedIds = (): Ids => Object.fromEntries(Object.keys(ids).map((name) => [name, 'none'])) as Ids;

/** A text with the names of ids in the place of the ids. */
const named = (text: string, given: Ids): string =>
  Object.entries(given).reduce((named, [name, id]) => named.replaceAll(id, `<${name}>`), text);

/** Tables in which background work writes rows of the shop meanwhile. */
const background = [
  ...['event_blocks', 'event_chains', 'order_counts'],
  ...['deliveries', 'delivery_attempts', 'lanes', 'redeliveries'],
];

/** All rows of the shop, in all tables but these, and the delivery. */
async function rowsOfShop(): Promise<string[]> {
  const tables = await payments.query<{ name: string }>(sql`
    select format('%I.%I', table_schema, table_name) as name from information_schema.columns
    where table_schema in ('core', 'webhooks') and column_name = 'merchant_id' and table_name <> all(${background})`);
  const rows = await payments.query<{ row: string }>(
    `${tables
      .map(({ name }) => `select '${name} ' || r as row from ${name} r where merchant_id::text = any($1)`)
      .join(' union all ')}
     union all select r::text from webhooks.deliveries r where id = $2 order by row`,
    [[shop.merchantId, storedId('mer', shop.merchantId)], ids.deliveryId],
  );
  return rows.map(({ row }) => row);
}

/** Expects that something about ids of the shop is answered as if nothing had them, and changes nothing. */
async function expectUnknown<Answer>(ask: (given: Ids) => Promise<Answer>): Promise<Answer> {
  const before = await rowsOfShop();
  const unknown = await ask(unknownIds());

  const answer = await ask(ids);

  expect(answer).toEqual(unknown);
  expect(await rowsOfShop()).toEqual(before);
  return answer;
}

test('every id that the tests use exists', () => {
  expect(Object.entries(ids).filter(([, id]) => id === '')).toEqual([]);
});

/** The parts of an answer that a visitor sees, with names instead of the given ids. */
const shown = ({ status, headers, body }: PageAnswer, given: Ids) => ({
  status,
  location: named(headers.get('location') ?? '', given),
  // Without the form's token and the id of the request.
  page: named(body, given).replaceAll(/(?<=name="(?:_csrf|form_id)" value="|Request <code>)[^"<]*/g, ''),
});

describe('a page or form', () => {
  /** Fields that satisfy every form, so that only the id can be the reason for a refusal. */
  const fields = { overlap: 'hour', refunds: 'yes', reason: 'x', url: 'https://shop.example/x', seen: 'x' };
  const refundFields = { amount: '1.00', refund_number: 'R-0123456789AB' };
  const fieldsOf = (route: string) =>
    route.endsWith('/role') ? { role: 'viewer', seen: 'developer' } : { ...fields, ...refundFields };

  const routes = Object.keys(accessRules).filter((name) =>
    /^\w+ \/m\/:merchantId\/.*:(?!environment|wallet\/|wallet$)\w+/.test(name),
  );

  describe.each(routes)('%s', (name) => {
    const [method, route = ''] = name.split(' ');
    const send = async (
      visitor: DashboardVisitor,
      merchantId: string,
      environmentName: string,
      given: Ids = ids,
    ) => {
      const path = route
        .replace('links/:orderId', 'links/:linkId')
        // Without a number, the form redirects to itself with one.
        .replace(/\/refund$/, '/refund?number=R-0123456789AB')
        .replace(':merchantId', merchantId)
        .replace(':environment', environmentName)
        .replace(':wallet', 'walleta')
        .replace(/:(\w+)/g, (_match, key: keyof Ids) => given[key]);
      return shown(await (method === 'GET' ? visitor.get(path) : visitor.post(path, fieldsOf(route))), given);
    };

    // A form would change data that the other tests need.
    if (method === 'GET')
      test('finds an id of its own merchant and environment', async () => {
        expect(await send(shop.owner, shop.merchantId, 'sandbox')).toMatchObject({ status: 200 });
      });

    test('finds no id of another merchant', async () => {
      const answer = await expectUnknown((given) => send(other.owner, other.merchantId, 'sandbox', given));

      expect(answer.status).toBe(404);
    });

    test('finds nothing by a text that is no id', async () => {
      expect(await send(shop.owner, shop.merchantId, 'sandbox', malformedIds())).toMatchObject({
        status: 404,
      });
    });

    if (route.includes(':environment'))
      test('finds no id of the sandbox in production', async () => {
        const answer = await expectUnknown((given) => send(shop.owner, shop.merchantId, 'production', given));

        expect(answer.status).toBe(404);
      });
  });

  const proposed = (given: Ids, kind: string, subject: keyof Ids, outcome = 'returned') => ({
    ...{ merchant_id: other.merchantId, kind, outcome, subject_id: given[subject] },
    ...{ reason: 'The provider answered our case', provider_reference: 'CASE-7' },
  });
  type Form = (given: Ids) => readonly [path: string, fields?: Readonly<Record<string, string>>];
  const operatorForms: readonly (readonly [string, Form])[] = [
    [
      'retries a reversal',
      ({ strayPaymentId }) => [
        `/operator/stray-payments/${other.merchantId}/${strayPaymentId}/retry`,
        { environment: 'sandbox' },
      ],
    ],
    [
      'settles a stray payment',
      (given) => ['/operator/settlements/propose', proposed(given, 'stray', 'strayPaymentId')],
    ],
    ['settles a refund', (given) => ['/operator/settlements/propose', proposed(given, 'refund', 'refundId')]],
    [
      'settles a payment',
      (given) => ['/operator/settlements/propose', proposed(given, 'payment', 'attemptId', 'notPaid')],
    ],
  ];

  test.each(operatorForms)(
    'with which an operator %s finds nothing of the shop at another merchant',
    async (_what, form) => {
      const answer = await expectUnknown(async (given) => shown(await operator.post(...form(given)), given));

      expect(answer.status).toBe(404);
    },
  );

  const formsOfOperators: readonly (readonly [string, Form])[] = [
    ...operatorForms,
    ['confirms a settlement', ({ settlementId }) => [`/operator/settlements/${settlementId}/confirm`]],
    ['withdraws a settlement', ({ settlementId }) => [`/operator/settlements/${settlementId}/withdraw`]],
  ];

  test.each(formsOfOperators)('with which an operator %s is not there for an owner', async (_what, form) => {
    const answer = await expectUnknown(async (given) => shown(await other.owner.post(...form(given)), given));

    expect(answer.status).toBe(404);
  });

  test.each([
    ['remove', 303],
    ['take-back', 409],
  ])('team/%s removes no user of another merchant', async (action, status) => {
    // Shows the messages of earlier forms, which the next page would have.
    await other.owner.get(`/m/${other.merchantId}/team`);
    for (const email of ['userEmail', 'invitedEmail'] as const) {
      const answer = await expectUnknown(async (given) =>
        shown(
          await other.owner.post(`/m/${other.merchantId}/team/${action}`, { email: given[email] }),
          given,
        ),
      );

      expect(answer.status).toBe(status);
    }
  });

  test('ends no session of another user', async () => {
    const visitor = await desk.signedIn(await desk.users.member(other.merchantId));

    const { status } = await visitor.post('/account/sessions/end', { user_id: ids.userId });

    expect(status).toBe(303);
    expect((await shop.owner.get(`/m/${shop.merchantId}/sandbox`)).status).toBe(200);
  });
});

describe('a call', () => {
  type Call = (merchantId: string, given: Ids) => Promise<unknown>;
  const webhooks = () => stack.webhookClient('operator');
  const endpoints = () => stack.webhookEndpointClient('operator');
  const orders = () => payments.orders;
  const lease = { leaseId: '00000000-0000-4000-8000-000000000000' };

  const calls: Readonly<Record<string, Call>> = {
    GetOrder: (merchantId, { orderId }) =>
      orders().getOrder({ merchantId, environment, key: { case: 'orderId', value: orderId } }),
    GetPaymentAttempt: (merchantId, { attemptId: paymentAttemptId }) =>
      attempts.getPaymentAttempt({ merchantId, paymentAttemptId }),
    RecordPaymentOutcome: (merchantId, { attemptId: paymentAttemptId }) =>
      attempts.recordPaymentOutcome({
        ...{ merchantId, paymentAttemptId, ...lease, outcome: outcomes.completed('t') },
      }),
    HastenPaymentAttempt: (merchantId, { attemptId: paymentAttemptId }) =>
      attempts.hastenPaymentAttempt({ merchantId, paymentAttemptId, callbackNote: 'x' }),
    GetRefund: (merchantId, { refundId }) =>
      refunds.getRefund({ merchantId, environment, name: { case: 'refundId', value: refundId } }),
    GetRefundable: (merchantId, { orderId }) => refunds.getRefundable({ merchantId, environment, orderId }),
    ApproveRefund: (merchantId, { refundId }) => refunds.approveRefund({ merchantId, refundId }),
    DeclineRefund: (merchantId, { refundId }) => refunds.declineRefund({ merchantId, refundId }),
    HastenRefund: (merchantId, { refundId }) => refundWork.hastenRefund({ merchantId, refundId }),
    RetryReversal: (merchantId, { strayPaymentId }) => strays.retryReversal({ merchantId, strayPaymentId }),
    HastenReversal: (merchantId, { strayPaymentId: reversalId }) =>
      strayWork.hastenReversal({ merchantId, reversalId, callbackNote: 'x' }),
    RecordReversalOutcome: (merchantId, { strayPaymentId }) =>
      strayWork.recordReversalOutcome({ merchantId, strayPaymentId, ...lease, outcome: refused }),
    'ProposeSettlement of a stray payment': (merchantId, { strayPaymentId: value }) =>
      settlements.proposeSettlement({ merchantId, ...returned, subject: { case: 'strayPaymentId', value } }),
    'ProposeSettlement of a refund': (merchantId, { refundId: value }) =>
      settlements.proposeSettlement({ merchantId, ...returned, subject: { case: 'refundId', value } }),
    'ProposeSettlement of a payment': (merchantId, { attemptId: value }) =>
      settlements.proposeSettlement({
        ...{ merchantId, ...returned, outcome: SettlementOutcome.NOT_PAID },
        subject: { case: 'paymentAttemptId', value },
      }),
    ChangeMembership: (merchantId, { userId }) =>
      accounts.changeMembership({
        ...{ merchantId, userId, role: MemberRole.VIEWER, expectedRole: MemberRole.DEVELOPER },
      }),
    GetApiRequest: (merchantId, { apiRequestId }) =>
      requestLog.getApiRequest({ merchantId, environment, apiRequestId }),
    'GetApiRequest in production': (_merchantId, { apiRequestId }) =>
      requestLog.getApiRequest({
        ...{ merchantId: shop.merchantId, environment: Environment.PRODUCTION, apiRequestId },
      }),
    RotateApiKey: (merchantId, { keyId: apiKeyId }) => keys.rotateApiKey({ merchantId, apiKeyId }),
    RevokeApiKey: (merchantId, { keyId: apiKeyId }) => keys.revokeApiKey({ merchantId, apiKeyId }),
    SetApiKeyScopes: (merchantId, { keyId: apiKeyId }) => keys.setApiKeyScopes({ merchantId, apiKeyId }),
    CheckWalletAccount: (merchantId, { accountId: walletAccountId }) =>
      walletAccounts.checkWalletAccount({ merchantId, walletAccountId }),
    RetireWalletAccount: (merchantId, { accountId: walletAccountId }) =>
      walletAccounts.retireWalletAccount({ merchantId, walletAccountId }),
    RemoveWalletAccount: (merchantId, { accountId: walletAccountId }) =>
      walletAccounts.removeWalletAccount({ merchantId, walletAccountId }),
    GetDelivery: (merchantId, { deliveryId }) => webhooks().getDelivery({ merchantId, deliveryId }),
    ExplainDelivery: (merchantId, { deliveryId }) => webhooks().explainDelivery({ merchantId, deliveryId }),
    RedeliverDelivery: (merchantId, { deliveryId }) =>
      webhooks().redeliverDelivery({ merchantId, deliveryId }),
    GetRedelivery: (merchantId, { redeliveryId }) => webhooks().getRedelivery({ merchantId, redeliveryId }),
    GetWebhookEndpoint: (merchantId, { endpointId: webhookEndpointId }) =>
      endpoints().getWebhookEndpoint({ merchantId, webhookEndpointId }),
    UpdateWebhookEndpoint: (merchantId, { endpointId: webhookEndpointId }) =>
      endpoints().updateWebhookEndpoint({ merchantId, webhookEndpointId, url: 'https://thief.example' }),
    DeleteWebhookEndpoint: (merchantId, { endpointId: webhookEndpointId }) =>
      endpoints().deleteWebhookEndpoint({ merchantId, webhookEndpointId }),
    RotateWebhookEndpointSecret: (merchantId, { endpointId: webhookEndpointId }) =>
      endpoints().rotateWebhookEndpointSecret({ merchantId, webhookEndpointId }),
    PromoteWebhookEndpointSecret: (merchantId, { endpointId: webhookEndpointId }) =>
      endpoints().promoteWebhookEndpointSecret({ merchantId, webhookEndpointId }),
  };

  test.each(Object.entries(calls))('%s finds no id of another merchant', async (_name, call) => {
    const failure = await expectUnknown(async (given) => {
      const error = await call(other.merchantId, given).then(
        () => new ConnectError('the call succeeded'),
        (thrown: unknown) => ConnectError.from(thrown),
      );
      const details = error.details.map((detail) => JSON.stringify(detail));
      return { code: Code[error.code], message: named(error.rawMessage, given), details };
    });

    expect(failure.code).toBe('NotFound');
  });

  /** Calls that succeed for every id. */
  const others: Readonly<Record<string, Call>> = {
    ListRefunds: (merchantId, { orderId }) => refunds.listRefunds({ merchantId, environment, orderId }),
    ListPaymentAttempts: (merchantId, { orderId }) =>
      stack
        .client(PaymentAttemptService, 'operator')
        .listPaymentAttempts({ merchantId, environment, orderId }),
    ListStrayPayments: (merchantId, { orderId }) => strays.listStrayPayments({ merchantId, orderId }),
    ListSettlements: (merchantId, { orderId }) => settlements.listSettlements({ merchantId, orderId }),
    ListDeliveries: (merchantId, { orderId }) =>
      webhooks().listDeliveries({ merchantId, environment, orderId }),
    'RemoveMembership of a user': (merchantId, { userEmail: email }) =>
      accounts.removeMembership({ merchantId, email }),
    'RemoveMembership of an invited user': (merchantId, { invitedEmail: email }) =>
      accounts.removeMembership({ merchantId, email }),
  };

  test.each(Object.entries(others))('%s has nothing of another merchant', async (_name, call) => {
    await expectUnknown((given) => call(other.merchantId, given));
  });

  test('PromoteSigningSecret promotes no secret of another merchant or environment', async () => {
    const before = await rowsOfShop();

    const promote = (own: { merchantId: string; environment: Environment }) =>
      failureOf(webhooks().promoteSigningSecret(own));

    expect((await promote({ merchantId: other.merchantId, environment })).reason).toBe('NO_NEXT_SECRET');
    expect((await promote({ merchantId: shop.merchantId, environment: Environment.PRODUCTION })).reason).toBe(
      'NO_NEXT_SECRET',
    );
    expect(await rowsOfShop()).toEqual(before);
  });

  test('EndUserSessions ends no session of another user, even one that it names', async () => {
    const user = await desk.users.member(other.merchantId);
    const visitor = await desk.signedIn(user);
    const keepSessionHash = createHash('sha256')
      .update(shop.owner.cookies.get(sessionCookie) ?? '')
      .digest();

    await stack.client(SessionService, 'dashboard').endUserSessions({ userId: user.userId, keepSessionHash });

    expect((await visitor.get('/account')).status).toBe(303);
    expect((await shop.owner.get('/account')).status).toBe(200);
  });
});
