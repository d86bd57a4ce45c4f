import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { ApiKeyScope, ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import {
  Environment,
  OrderEventType,
  OrderStatus,
  RefundStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { Refund } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderFact } from '../../../src/gen/gatehouse/v1/order_explanation_pb.js';
import { OrderStoryService } from '../../../src/gen/gatehouse/v1/order_story_service_pb.js';
import { NotRefundable, RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { ReportService } from '../../../src/gen/gatehouse/v1/report_service_pb.js';
import type { LeasedRefund } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { duringChange } from '../../support/database-connections.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf, flood, outcomeOf, refusalOf, wrongFields } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { hangMs, waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { damageRow } from './damaged-row.ts';
import { outcomes, sharedPaymentDesk, transactionOf } from './payment-desk.ts';

const environment = Environment.SANDBOX;
const stack = sharedStack({ cores: 2, facades: 0 });
const desk = sharedPaymentDesk(stack);
const merchants = sharedClient(stack, MerchantService, 'operator');

let merchantId: string;
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

/** A COMPLETED order of 100.50 ETB. */
async function paidOrder(orderNumber = 'D-1') {
  const payment = await desk.startDirect({ merchantId, orderNumber });
  await desk.settle(
    payment,
    outcomes.completed(orderNumber === 'D-1' ? 't-1' : `${merchantId}/${orderNumber}`),
  );
  return payment;
}

const asked = (refundNumber: string, amount = '', own: { orderNumber?: string; reason?: string } = {}) => ({
  ...{ merchantId, environment, refundNumber, amount, reason: own.reason ?? 'Shoes came back' },
  order: { case: 'orderNumber' as const, value: own.orderNumber ?? 'D-1' },
});

const refusal = (...request: Parameters<typeof asked>) =>
  refusalOf(desk.refunds.createRefund(asked(...request)));

const refund = (refundNumber: string, amount = ''): Promise<Refund> =>
  desk.refund(merchantId, 'D-1', { refundNumber, amount });

const lease = ({ refundId }: Refund): Promise<LeasedRefund> => desk.takeRefund(refundId);

type Outcome = Parameters<typeof desk.recordRefund>[1];
const done: Outcome = { case: 'done', value: {} };
const pending: Outcome = { case: 'pending', value: { providerReference: 'rv-1', detail: '' } };
const lost: Outcome = { case: 'pending', value: { detail: 'no answer' } };
const refused = (definite: boolean): Outcome => ({
  case: 'refused',
  value: { reason: 'account_state', detail: 'the account is closed', definite },
});

const record = async (leased: LeasedRefund, outcome: Outcome): Promise<Refund | undefined> =>
  (await desk.recordRefund(leased, outcome)).refund;

const makeDue = () =>
  desk.query('update core.refunds set due_at = now(), leased_until = null where due_at is not null');

const orderNow = async () => (await desk.orders.getOrder(orderNamed(merchantId, 'D-1'))).order;

const left = async (orderId: string) => desk.refunds.getRefundable({ merchantId, environment, orderId });

describe('a refund of a COMPLETED order', () => {
  test('is sent to the wallet that was paid, ends as the wallet says, and each step is an event of the order', async () => {
    const { orderId, attemptId } = await paidOrder();
    await desk.query(sql`update core.payment_attempts set provider_reference = 'pay-1'
      where merchant_id = ${storedId('mer', merchantId)}`);
    const created = await refund('R-1', '40.5');

    expect(created).toMatchObject({
      ...{ orderId, orderNumber: 'D-1', amount: '40.50', currency: 'ETB' },
      ...{ status: RefundStatus.REQUESTED, requestedBy: 'writer' },
      ...{ paymentAttemptId: attemptId, paymentOption: 'walleta_ussd' },
      providerTransactionId: transactionOf(merchantId, 't-1'),
    });
    const pendingOnly = { left: '60.00', pending: '40.50', refunded: '0.00', partial: true };
    expect(await left(orderId)).toMatchObject(pendingOnly);

    const first = await lease(created);
    expect(first).toMatchObject({
      ...{ sentBefore: false, paymentReference: 'pay-1', refund: { status: RefundStatus.SENT } },
    });
    expect(await desk.leaseRefunds()).toEqual([]);
    expect(await record(first, lost)).toMatchObject({ status: RefundStatus.UNKNOWN, detail: 'no answer' });
    await makeDue();
    const second = await lease(created);
    expect(second.sentBefore).toBe(true);
    // The worker's report does not delay what the wallet's message makes due.
    await desk.refundWork.hastenRefund({ merchantId, refundId: created.refundId, callbackNote: 'n' });
    expect(await record(second, pending)).toMatchObject({ status: RefundStatus.SENT });
    const [third] = await desk.leaseRefunds();
    if (third === undefined) throw new Error('the refund is not due');
    expect(third).toMatchObject({ callbackNotes: ['n'], refund: { providerReference: 'rv-1' } });
    expect(await record(third, done)).toMatchObject({ status: RefundStatus.COMPLETED });
    // A repeat of the report, as after a lost answer.
    expect(await record(third, done)).toMatchObject({ status: RefundStatus.COMPLETED });
    expect(await refusalOf(record(second, done))).toBe('LEASE_LOST');
    const exchanges = 'select from core.wallet_exchanges where merchant_id = $1';
    expect(await desk.query(exchanges, [storedId('mer', merchantId)])).toHaveLength(3);

    expect(await orderNow()).toMatchObject({ status: OrderStatus.COMPLETED, refunded: '40.50' });
    expect(await left(orderId)).toMatchObject({ left: '60.00', pending: '0.00', refunded: '40.50' });
    const steps = ['3 COMPLETED', '4 REFUND_REQUESTED', '5 REFUND_COMPLETED'];
    expect((await desk.history({ merchantId, orderId })).slice(2)).toEqual(steps);
    const { entries } = await desk.orders.listOrderEvents({ merchantId, orderId });
    expect(entries.at(-1)?.event).toMatchObject({
      type: OrderEventType.REFUND_COMPLETED,
      previousStatus: OrderStatus.COMPLETED,
      order: { status: OrderStatus.COMPLETED, refunded: '40.50' },
      refund: { refundId: created.refundId, status: RefundStatus.COMPLETED, amount: '40.50' },
    });
  });

  test('gets no outcome from a former lease while another process takes it', async () => {
    await paidOrder();
    const leased = await lease(await refund('R-1'));

    const refused = await duringChange(
      stack.databaseUrl,
      sql`update core.refunds set lease_id = gen_random_uuid()
        where merchant_id = ${storedId('mer', merchantId)}`,
      () => refusalOf(record(leased, done)),
    );

    expect(refused).toBe('LEASE_LOST');
  });

  test('is found again by its number with the same values, and no other values get that number', async () => {
    await paidOrder();
    await paidOrder('D-2');
    const created = await refund('R-1', '40.5');
    const again = await desk.refunds.createRefund(asked('R-1', '40.50'));

    expect(again).toMatchObject({ repeated: true, refund: { refundId: created.refundId } });
    for (const [other, fields] of [
      [asked('R-1', '40.51'), 'amount'],
      [asked('R-1', ''), 'amount'],
      [asked('R-1', '40.5', { reason: 'Other' }), 'reason'],
      [asked('R-1', '1', { orderNumber: 'D-2', reason: 'Other' }), 'order_number and amount and reason'],
    ] as const) {
      const failure = await failureOf(desk.refunds.createRefund(other));
      expect(failure).toMatchObject({ code: 'AlreadyExists', reason: 'REFUND_NUMBER_TAKEN' });
      expect(failure.issues['refund_number']).toContain(`another ${fields};`);
    }
  });

  test('gets a number once, even when it is requested for two orders at once', async () => {
    const orderNumbers = ['D-1', 'D-2'];
    for (const orderNumber of orderNumbers) await paidOrder(orderNumber);
    for (let round = 0; round < 5; round += 1) {
      const all = orderNumbers.map((orderNumber) =>
        outcomeOf(desk.refunds.createRefund(asked(`R-${round}`, '1', { orderNumber }))),
      );
      expect((await Promise.all(all)).sort()).toEqual(['REFUND_NUMBER_TAKEN', 'done']);
    }
  });

  test('of one environment is unknown in the other', async () => {
    await paidOrder();
    const { refundId } = await refund('R-1', '1');
    await desk.query(sql`
      update core.refunds set environment = 'PRODUCTION' where merchant_id = ${storedId('mer', merchantId)}`);
    const name = { case: 'refundId' as const, value: refundId };

    const found = await refusalOf(desk.refunds.getRefund({ merchantId, environment, name }));
    const { repeated } = await desk.refunds.createRefund(asked('R-1', '1'));

    expect([found, repeated]).toEqual(['REFUND_NOT_FOUND', false]);
  });

  test('is leased by one of several workers that ask at the same moment', async () => {
    await paidOrder();
    await refund('R-1');
    for (let round = 0; round < 5; round += 1) {
      await makeDue();
      const leased = await Promise.all(Array.from({ length: 8 }, () => desk.leaseRefunds()));
      expect(leased.flat()).toHaveLength(1);
    }
  });

  test.each(['read', 'changed'] as const)(
    'is leased although an earlier one of another order cannot be %s, which waits',
    async (how) => {
      for (const number of ['D-1', 'D-2']) await paidOrder(number);
      const damaged = await refund('R-1');
      const next = await desk.refund(merchantId, 'D-2', { refundNumber: 'R-2', amount: '' });
      const repair = await damageRow(desk.query, 'refunds', storedId('rfd', damaged.refundId), how);

      await waitUntil('it is leased', async () =>
        (await desk.leaseRefunds()).some((each) => each.refund?.refundId === next.refundId),
      );

      await repair();
      const name = { case: 'refundId', value: damaged.refundId } as const;
      expect((await desk.refunds.getRefund({ merchantId, name })).refund?.status).toBe(
        RefundStatus.REQUESTED,
      );
    },
  );

  test('is leased only for its payment option and environment, and not to a worker that excludes its merchant', async () => {
    await paidOrder();
    await desk.settle(
      await desk.startDirect({ merchantId, orderNumber: 'B-1', paymentOption: 'walletb_ussd' }),
      outcomes.completed(`${merchantId}/B-1`),
    );
    await refund('R-A');
    for (const number of ['R-B', 'R-C'])
      await desk.refunds.createRefund(asked(number, '1', { orderNumber: 'B-1' }));
    await desk.query("update core.refunds set environment = 'PRODUCTION' where refund_number = 'R-C'");

    const work = { environment, paymentOptions: ['walletb_ussd'], maxRefunds: 9, lease: { seconds: 60n } };
    const others = await desk.refundWork.leaseRefunds({ ...work, exceptMerchantIds: [merchantId] });
    const leased = await desk.refundWork.leaseRefunds(work);

    expect(others.refunds).toEqual([]);
    expect(leased.refunds.map((each) => each.refund?.refundNumber)).toEqual(['R-B']);
  });

  test('without an amount returns the rest, and never more', async () => {
    const { orderId } = await paidOrder();
    await refund('R-1', '100');
    const { issues } = await failureOf(desk.refunds.createRefund(asked('R-2', '0.51')));
    expect(issues['amount']).toBe(
      'must be at most 0.50 ETB, what is left of the order: refunds already cover 100.00 ETB of 100.50 ETB',
    );
    expect(await refund('R-3')).toMatchObject({ amount: '0.50' });
    expect(await desk.refunds.createRefund(asked('R-3'))).toMatchObject({ repeated: true });
    expect(await refusal('R-4')).toBe('ORDER_NOT_REFUNDABLE');
    expect(await left(orderId)).toMatchObject({ notRefundable: NotRefundable.NOTHING_LEFT, left: '0.00' });
  });

  test('never exceeds what was debited, even when fifty are requested at once', async () => {
    const { orderId } = await paidOrder();
    const all = await Promise.allSettled(
      Array.from({ length: 50 }, (_, number) => desk.refunds.createRefund(asked(`R-${number}`, '7.00'))),
    );
    const created = all.filter(({ status }) => status === 'fulfilled');
    expect(created).toHaveLength(14);
    expect(await left(orderId)).toMatchObject({ left: '2.50', pending: '98.00' });
    const repeats = await Promise.all(
      Array.from({ length: 20 }, () => desk.refunds.createRefund(asked('R-L', '2.5'))),
    );
    expect(new Set(repeats.map(({ refund: each }) => each?.refundId)).size).toBe(1);
    expect(repeats.filter(({ repeated }) => !repeated)).toHaveLength(1);
    const sequences = (await desk.history({ merchantId, orderId })).map((event) =>
      Number(event.split(' ')[0]),
    );
    expect(sequences).toEqual(Array.from({ length: 3 + 15 }, (_, index) => index + 1));
  });
});

describe('a refusal to refund has a reason', () => {
  test('for invalid fields', async () => {
    expect(await wrongFields(desk.refunds.createRefund({ refundNumber: 'a b', amount: '-1' }))).toBe(
      'amount environment merchant_id order_number reason refund_number',
    );
    await paidOrder();
    const decimals = await failureOf(desk.refunds.createRefund(asked('R-1', '1.001')));
    expect(decimals.issues['amount']).toBe('must have at most 2 decimals in ETB');
  });

  test('for an order that is not COMPLETED, is unknown, or belongs to another merchant', async () => {
    await desk.startDirect({ merchantId, orderNumber: 'D-9' });
    expect(await refusal('R-1', '', { orderNumber: 'D-9' })).toBe('ORDER_NOT_REFUNDABLE');
    expect(await refusal('R-1')).toBe('ORDER_NOT_FOUND');
    const { orderId } = await paidOrder();
    const created = await refund('R-1');
    const { id: other } = await stack.createMerchant();
    const order = { case: 'orderId' as const, value: orderId };
    const foreign = { ...asked('R-2'), merchantId: other, order };
    expect(await refusalOf(desk.refunds.createRefund(foreign))).toBe('ORDER_NOT_FOUND');
    const name = { case: 'refundId' as const, value: created.refundId };
    expect(await refusalOf(desk.refunds.getRefund({ merchantId: other, name }))).toBe('REFUND_NOT_FOUND');
    expect(await desk.refunds.getRefund({ merchantId, name })).toMatchObject({
      refund: { refundNumber: 'R-1' },
    });
    const number = { case: 'refundNumber' as const, value: 'R-1' };
    expect(await desk.refunds.getRefund({ merchantId, environment, name: number })).toMatchObject({
      refund: { refundId: created.refundId },
    });
  });

  test('for a payment that is being returned as a stray payment', async () => {
    const payment = await paidOrder();
    await desk.query(sql`
      insert into core.stray_payments (merchant_id, id, environment, order_id, payment_attempt_id, payment_option,
        provider_transaction_id, amount, currency, kind, status, detail, tries, maybe_sent, reversal_id, created_at, updated_at)
      select merchant_id, gen_random_uuid(), environment, order_id, id, payment_option, provider_transaction_id, '100.50', 'ETB',
        'LATE', 'REVERSED', '', 1, true, gen_random_uuid(), now(), now()
      from core.payment_attempts where provider_transaction_id = ${transactionOf(merchantId, 't-1')}`);
    expect(await refusal('R-1')).toBe('ORDER_NOT_REFUNDABLE');
    expect(await left(payment.orderId)).toMatchObject({ notRefundable: NotRefundable.STRAY_PAYMENT });
    // The order was charged twice, and the other payment is being returned.
    await desk.query(sql`update core.stray_payments set provider_transaction_id = 'other'
      where merchant_id = ${storedId('mer', merchantId)}`);
    expect(await refund('R-1')).toMatchObject({ amount: '100.50' });
  });
});

describe('who may refund', () => {
  test('a suspended merchant declines a refund, and approves none until it is resumed', async () => {
    await merchants.updateMerchant({
      ...{ merchantId, refundPolicy: { approvalLimits: [{ currency: 'ETB', amount: '0' }] } },
    });
    await paidOrder();
    const [first, second] = [await refund('R-1', '30'), await refund('R-2', '30')];
    const other = stack.client(RefundService, 'dashboard');
    const by = { headers: { 'x-gatehouse-actor': 'usr_b' } };
    const approve = () => other.approveRefund({ merchantId, refundId: first.refundId }, by);
    await merchants.suspendMerchant({ merchantId });

    const refused = await refusalOf(approve());
    const declined = await other.declineRefund({ merchantId, refundId: second.refundId }, by);
    await merchants.resumeMerchant({ merchantId });
    const approved = await approve();

    expect(refused).toBe('MERCHANT_SUSPENDED');
    expect([declined, approved].map((reply) => reply.refund?.status)).toEqual([
      RefundStatus.FAILED,
      RefundStatus.REQUESTED,
    ]);
    await merchants.suspendMerchant({ merchantId });
    await approve();
  });

  test('a second person approves above the merchant’s limit, and the order’s refunds count together', async () => {
    const approvalLimits = [{ currency: 'ETB', amount: '50' }];
    const { merchant } = await merchants.updateMerchant({ merchantId, refundPolicy: { approvalLimits } });
    expect(merchant?.refundPolicy).toMatchObject({ approvalLimits });
    const { orderId } = await paidOrder();
    const alice = stack.client(RefundService, 'dashboard');
    const as = (user: string) => ({ headers: { 'x-gatehouse-actor': user } });
    const create = (number: string, amount: string) => alice.createRefund(asked(number, amount), as('usr_a'));
    const { refund: small } = await create('R-1', '30');
    expect(small).toMatchObject({ status: RefundStatus.REQUESTED, requestedBy: 'dashboard:usr_a' });
    const { refund: large } = await create('R-2', '30');
    expect(large).toMatchObject({ status: RefundStatus.AWAITING_APPROVAL });
    const { refund: other } = await create('R-3', '30');
    const key = { merchantId, refundId: large?.refundId ?? '' };
    expect((await desk.leaseRefunds()).map((leased) => leased.refund?.refundNumber)).toEqual(['R-1']);

    expect(await refusalOf(alice.approveRefund(key, as('usr_a')))).toBe('SECOND_PERSON_NEEDED');
    const approved = await alice.approveRefund(key, as('usr_b'));
    expect(approved.refund).toMatchObject({ status: RefundStatus.REQUESTED, decidedBy: 'dashboard:usr_b' });
    await alice.approveRefund(key, as('usr_b'));
    expect(await refusalOf(alice.declineRefund(key, as('usr_b')))).toBe('REFUND_NOT_AWAITING_APPROVAL');
    expect((await desk.leaseRefunds()).map((leased) => leased.refund?.refundNumber)).toEqual(['R-2']);

    const decline = { merchantId, refundId: other?.refundId ?? '', reason: 'twice' };
    const declined = await alice.declineRefund(decline, as('usr_b'));
    const failed = { status: RefundStatus.FAILED, failureReason: 'approval_declined' };
    expect(declined.refund).toMatchObject(failed);
    expect(await left(orderId)).toMatchObject({ left: '40.50', approvalAbove: '50' });
    expect((await desk.history({ merchantId, orderId })).slice(3)).toEqual([
      '4 REFUND_REQUESTED',
      '5 REFUND_REQUESTED',
      '6 REFUND_REQUESTED',
      '7 REFUND_APPROVED',
      '8 REFUND_FAILED',
    ]);
    const { entries } = await stack.client(AuditService, 'operator').listAuditEntries({ merchantId });
    const decisions = entries.filter(({ action }) => action.startsWith('refund.'));
    expect(decisions.map(({ requestId }) => requestId)).not.toContain('');
    expect(decisions.map(({ action, actor }) => `${action} ${actor}`)).toEqual([
      'refund.decline dashboard:usr_b',
      'refund.approve dashboard:usr_b',
      'refund.create dashboard:usr_a',
      'refund.create dashboard:usr_a',
      'refund.create dashboard:usr_a',
    ]);
  });

  test('a role’s own limit applies to refunds of its members only, and is in the audit log', async () => {
    const owner = MemberRole.OWNER;
    const approvalLimits = [
      { currency: 'ETB', amount: '50' },
      { currency: 'ETB', amount: '0', role: MemberRole.DEVELOPER },
      { currency: 'ETB', amount: '100', role: owner },
    ];
    const { merchant } = await merchants.updateMerchant({ merchantId, refundPolicy: { approvalLimits } });
    expect(merchant?.refundPolicy?.approvalLimits).toHaveLength(3);
    const viewer = [{ currency: 'ETB', amount: '1', role: MemberRole.VIEWER }];
    const wrong = merchants.updateMerchant({ merchantId, refundPolicy: { approvalLimits: viewer } });
    expect(await refusalOf(wrong)).toBe('INVALID_FIELDS');
    const { orderId } = await paidOrder();
    const dashboard = stack.client(RefundService, 'dashboard');
    const users = { dev: publicId('usr', v7()), boss: publicId('usr', v7()) };
    for (const [id, role] of Object.entries({ [users.dev]: 'DEVELOPER', [users.boss]: 'OWNER' })) {
      await desk.query(
        `insert into core.users (id, email, email_key, name, language, is_operator, password_hash, created_at, updated_at)
         values ($1, $2, $2, 'Somebody', 'en', false, '$argon2id$', now(), now())`,
        [storedId('usr', id), `${id}@shop.example`],
      );
      await desk.query(sql`insert into core.memberships (merchant_id, user_id, role, created_at, updated_at)
        values (${storedId('mer', merchantId)}, ${storedId('usr', id)}, ${role}, now(), now())`);
    }
    const as = (user: string) => ({ headers: { 'x-gatehouse-actor': user } });
    const limitOf = async (user: string) => {
      const found = await dashboard.getRefundable({ merchantId, environment, orderId }, as(user));
      return [found.approvalAbove, found.approvalRole];
    };

    expect(await limitOf(users.dev)).toEqual(['0', MemberRole.DEVELOPER]);
    expect(await limitOf(users.boss)).toEqual(['100', owner]);
    expect(await left(orderId)).toMatchObject({ approvalAbove: '50', approvalRole: MemberRole.UNSPECIFIED });
    const statusOf = async (number: string, amount: string, user: string) =>
      (await dashboard.createRefund(asked(number, amount), as(user))).refund?.status;
    expect(await statusOf('R-1', '1', users.dev)).toBe(RefundStatus.AWAITING_APPROVAL);
    expect(await statusOf('R-2', '60', users.boss)).toBe(RefundStatus.REQUESTED);
    expect((await refund('R-3', '1')).status).toBe(RefundStatus.AWAITING_APPROVAL);
    expect(await statusOf('R-4', '38.50', users.boss)).toBe(RefundStatus.AWAITING_APPROVAL);
    const { entries } = await stack.client(AuditService, 'operator').listAuditEntries({ merchantId });
    const update = entries.find(({ action }) => action === 'merchant.update');
    expect(update?.details).toMatchObject({ refund_role_limits: 'owner 100 ETB, developer 0 ETB' });
  });

  test('an API key may refund with the scope, which no key has by default and a successor inherits', async () => {
    await paidOrder();
    const keys = stack.client(ApiKeyService, 'operator');
    const facade = stack.client(RefundService, 'facade');
    const { apiKey } = await keys.issueApiKey({ merchantId, environment });
    const apiKeyId = apiKey?.apiKeyId ?? '';
    expect(apiKey?.scopes).toEqual([]);
    const byKey = (own: string) => facade.createRefund({ ...asked('R-1', '1'), apiKeyId: own });

    expect((await failureOf(byKey(''))).issues).toEqual({ api_key_id: 'is required' });
    expect(await refusalOf(byKey(apiKeyId))).toBe('API_KEY_NOT_ALLOWED');
    const scopes = [ApiKeyScope.REFUNDS];
    await keys.setApiKeyScopes({ merchantId, apiKeyId, scopes });
    expect(await byKey(apiKeyId)).toMatchObject({ refund: { requestedBy: `facade:${apiKeyId}` } });
    await merchants.activateProduction({ merchantId });
    const live = await keys.issueApiKey({ merchantId, environment: Environment.PRODUCTION, scopes });
    expect(await refusalOf(byKey(live.apiKey?.apiKeyId ?? ''))).toBe('API_KEY_NOT_ALLOWED');
    const { apiKey: next, secret } = await keys.rotateApiKey({ merchantId, apiKeyId });
    expect(next?.scopes).toEqual(scopes);
    const authenticated = await stack
      .client(ApiKeyService, 'facade')
      .authenticateApiKey({ apiKey: secret, environment });
    expect(authenticated.scopes).toEqual(scopes);
    await keys.revokeApiKey({ merchantId, apiKeyId });
    expect(await refusalOf(byKey(apiKeyId))).toBe('API_KEY_NOT_ALLOWED');
    expect(await refusalOf(desk.refunds.createRefund({ ...asked('R-2'), apiKeyId }))).toBe('INVALID_FIELDS');
    expect(await refusalOf(keys.setApiKeyScopes({ merchantId, apiKeyId, scopes: [] }))).toBe(
      'API_KEY_NOT_USABLE',
    );
  });
});

test('validate_only names the invalid fields, and creates nothing when there are none', async () => {
  await paidOrder();

  const checked = await desk.refunds.createRefund({ ...asked('RET-1', '40'), validateOnly: true });
  const invalid = { ...asked('RET 1', '1e3'), reason: '', validateOnly: true };

  expect(checked.refund).toBeUndefined();
  expect(await refusalOf(desk.refunds.createRefund(invalid))).toBe('INVALID_FIELDS');
  expect((await desk.refunds.listRefunds({ merchantId })).refunds).toEqual([]);
});

test('refunds are listed newest first, by page, state, order and time', async () => {
  const { orderId } = await paidOrder();
  await paidOrder('D-2');
  const first = await refund('R-1', '1');
  await refund('R-2', '2');
  await desk.refunds.createRefund(asked('R-3', '3', { orderNumber: 'D-2' }));
  await record(await lease(first), done);
  const numbers = async (own: Parameters<typeof desk.refunds.listRefunds>[0]) =>
    (await desk.refunds.listRefunds({ merchantId, ...own })).refunds.map(({ refundNumber }) => refundNumber);

  expect(await numbers({})).toEqual(['R-3', 'R-2', 'R-1']);
  expect(await numbers({ orderId })).toEqual(['R-2', 'R-1']);
  expect(await numbers({ statuses: [RefundStatus.COMPLETED, RefundStatus.FAILED] })).toEqual(['R-1']);
  expect(await numbers({ statuses: [RefundStatus.SENT] })).toEqual(['R-3', 'R-2']);
  expect(await numbers({ environment: Environment.PRODUCTION })).toEqual([]);
  expect(await numbers({ createTimeFrom: { seconds: 4_000_000_000n } })).toEqual([]);
  expect(await numbers({ createTimeTo: { seconds: 4_000_000_000n } })).toEqual(['R-3', 'R-2', 'R-1']);
  expect(await wrongFields(numbers({ createTimeFrom: { seconds: 2n }, createTimeTo: { seconds: 1n } }))).toBe(
    'create_time_to',
  );
  const page = await desk.refunds.listRefunds({ merchantId, pageSize: 2 });
  expect(page.refunds).toHaveLength(2);
  expect(await numbers({ pageSize: 2, pageToken: page.nextPageToken })).toEqual(['R-1']);
});

test('refunds are listed by each state', async () => {
  const approvalLimits = [{ currency: 'ETB', amount: '50' }];
  await merchants.updateMerchant({ merchantId, refundPolicy: { approvalLimits } });
  await paidOrder();
  const outcomeOfNumber = { 'R-1': done, 'R-2': refused(true), 'R-3': lost, 'R-4': pending };
  for (const [number, outcome] of Object.entries(outcomeOfNumber))
    await record(await lease(await refund(number, '1')), outcome);
  await refund('R-5', '1');
  const { refundId } = await refund('R-6', '60');
  const by = { headers: { 'x-gatehouse-actor': 'usr_b' } };
  await stack.client(RefundService, 'dashboard').declineRefund({ merchantId, refundId }, by);
  await refund('R-7', '60');

  const numbersIn = async (status: RefundStatus) =>
    (await desk.refunds.listRefunds({ merchantId, statuses: [status] })).refunds.map(
      (each) => each.refundNumber,
    );
  const { COMPLETED, FAILED, UNKNOWN, SENT, REQUESTED, AWAITING_APPROVAL } = RefundStatus;
  const states = [COMPLETED, FAILED, UNKNOWN, SENT, REQUESTED, AWAITING_APPROVAL];
  const expected = [['R-1'], ['R-6', 'R-2'], ['R-3'], ['R-4'], ['R-5'], ['R-7']];
  expect(await Promise.all(states.map(numbersIn))).toEqual(expected);
});

test('the steps of refunds are streamed in order, filtered, and again after a cursor', async () => {
  const { orderId } = await paidOrder();
  await paidOrder('D-2');
  const reader = stack.client(RefundService, 'reader');
  const follow = async (own: object, count: number, onFirst: () => void = () => undefined) => {
    const seen: { readonly step: string; readonly number: string; readonly cursor: string }[] = [];
    for await (const { refund: each, step, cursor } of reader.watchRefunds({ merchantId, ...own })) {
      onFirst();
      if (each !== undefined) seen.push({ step: OrderEventType[step], number: each.refundNumber, cursor });
      if (seen.length === count) break;
    }
    return seen;
  };
  let isFollowing = false;
  const live = follow({ onlyNew: true, environment }, 4, () => {
    isFollowing = true;
  });
  await waitUntil('the stream has begun', () => isFollowing);
  await record(await lease(await refund('R-1', '40')), done);
  await desk.refunds.createRefund(asked('R-2', '1', { orderNumber: 'D-2' }));
  await refund('R-3', '1');

  const all = await live;
  const stepsOf = (seen: typeof all) => seen.map(({ step, number }) => `${number} ${step}`);
  expect(stepsOf(all)).toEqual([
    'R-1 REFUND_REQUESTED',
    'R-1 REFUND_COMPLETED',
    'R-2 REFUND_REQUESTED',
    'R-3 REFUND_REQUESTED',
  ]);
  expect(stepsOf(await follow({ orderId }, 3))).toEqual([
    'R-1 REFUND_REQUESTED',
    'R-1 REFUND_COMPLETED',
    'R-3 REFUND_REQUESTED',
  ]);
  expect(stepsOf(await follow({ afterCursor: all[1]?.cursor ?? '' }, 2))).toEqual(stepsOf(all.slice(2)));
  expect(await refusalOf(follow({ merchantId: '', orderId }, 1))).toBe('INVALID_FIELDS');
});

test('the report of the period has the refunded amount, and the orders still count as collected', async () => {
  await paidOrder();
  await record(await lease(await refund('R-1', '40')), done);
  await record(await lease(await refund('R-2', '10')), refused(true));
  const quarterMs = 900_000;
  const fromMs = Math.floor(Date.now() / quarterMs) * quarterMs - quarterMs;
  const span = { fromTime: timestampFromMs(fromMs), toTime: timestampFromMs(fromMs + 4 * quarterMs) };
  const report = await waitUntil('both refunds are counted', async () => {
    const found = await stack
      .client(ReportService, 'reader')
      .getOrderReport({ merchantId, environment, ...span });
    return found.total?.refunded.length === 1 && found.behindSince === undefined && found;
  });

  expect(report.total).toMatchObject({
    completed: 1n,
    collected: [{ currency: 'ETB', amount: '100.50', orders: 1n }],
    refunded: [{ currency: 'ETB', amount: '40.00', refunds: 1n }],
  });
  expect(report.options).toMatchObject([
    { paymentOption: 'walleta_ussd', failed: 0n, refunded: [{ amount: '40.00' }] },
  ]);
  expect(report.failures).toEqual([]);
});

test('an order with many refunds waits for an old one that is not decided, and all of them count', async () => {
  const { orderId } = await paidOrder();
  const { refundId } = await refund('R-1', '0.01');
  await desk.query(sql`insert into core.refunds
    select (jsonb_populate_record(r, jsonb_build_object(
      'id', overlay(r.id::text placing lpad(to_hex(n), 8, 'f') from 1), 'refund_number', 'R-1-' || n,
      'status', 'REVERSED', 'due_at', null
    ))).* from core.refunds r, generate_series(1, 201) n where r.id = ${storedId('rfd', refundId)}`);
  const stories = stack.client(OrderStoryService, 'reader');

  const explained = await stories.explainOrder({
    ...{ merchantId, environment, key: { case: 'orderId', value: orderId } },
  });
  const { explanation } = await stories.getOrderStory({ merchantId, environment, orderId });

  const waits = { waitingFor: OrderFact.REQUEST_SENT, subjectId: refundId };
  expect([explained.explanation, explanation]).toMatchObject([waits, waits]);
  expect(await left(orderId)).toMatchObject({ left: '98.48' });
  expect(await refund('R-2')).toMatchObject({ amount: '98.48' });
});

test('many refunds of one order leave connections to other merchants, and turns to payments of the same one', async () => {
  const order = await paidOrder();
  const other = await stack.createMerchant();
  // As by a refund that takes long.
  const release = await desk.holdOrder(order);
  const creating = flood((index) =>
    desk.refunds.createRefund(asked(`R-${index}`, '0.01'), { timeoutMs: hangMs }),
  );

  const first = await Promise.race(creating);
  const page = await desk.refunds.listRefunds({ merchantId: other.id, environment });
  const none = { environment, name: { case: 'refundNumber' as const, value: 'none' } };
  const reading = flood(() => desk.refunds.getRefund({ merchantId, ...none }, { timeoutMs: hangMs }));
  const firstRead = await Promise.race(reading);
  const otherRead = await outcomeOf(desk.refunds.getRefund({ merchantId: other.id, ...none }));
  await desk.orders.registerOrder(registration({ merchantId, orderNumber: 'D-2' }));
  const payment = directPayment({ merchantId, orderNumber: 'D-2', phone: '0911000002' });
  const paying = outcomeOf(desk.orders.startDirectPayment(payment, { timeoutMs: hangMs }));

  const waiting = await desk.lockWaits();
  await release();
  await Promise.all(reading);
  expect(first).toBe('OVERLOADED');
  expect(page.refunds).toEqual([]);
  expect([firstRead, otherRead]).toEqual(['OVERLOADED', 'REFUND_NOT_FOUND']);
  expect(await paying).toBe('done');
  // A quarter of the 12 connections of each core.
  expect(waiting).toBeLessThanOrEqual(6);
  expect(new Set(await Promise.all(creating))).toEqual(new Set(['done', 'OVERLOADED']));
});

test('a refund that waits for a third of its time is refused as OVERLOADED, and its repeat creates it', async () => {
  const order = await paidOrder();
  const release = await desk.holdOrder(order);
  const running = Array.from({ length: 20 }, (_, index) => refund(`R-${index}`, '0.01'));
  await waitUntil('both cores run as many as they may', async () => (await desk.lockWaits()) === 6);

  const late = await refusalOf(desk.refunds.createRefund(asked('R-late', '0.01'), { timeoutMs: 4_000 }));
  await release();

  await Promise.all(running);
  expect(late).toBe('OVERLOADED');
  const name = { case: 'refundNumber' as const, value: 'R-late' };
  expect(await refusalOf(desk.refunds.getRefund({ merchantId, environment, name }))).toBe('REFUND_NOT_FOUND');
  expect(await refund('R-late', '0.01')).toMatchObject({ amount: '0.01' });
});

test('many approvals of refunds leave connections to other merchants', async () => {
  await merchants.updateMerchant({
    ...{ merchantId, refundPolicy: { approvalLimits: [{ currency: 'ETB', amount: '0' }] } },
  });
  const order = await paidOrder();
  const { refundId } = await refund('R-1', '30');
  const other = await stack.createMerchant();
  const approver = stack.client(RefundService, 'dashboard');
  const by = { headers: { 'x-gatehouse-actor': 'usr_b' }, timeoutMs: hangMs };
  const release = await desk.holdOrder(order);
  const approving = flood(() => approver.approveRefund({ merchantId, refundId }, by));

  const first = await Promise.race(approving);
  const page = await desk.refunds.listRefunds({ merchantId: other.id, environment });

  const waiting = await desk.lockWaits();
  await release();
  expect([first, page.refunds]).toEqual(['OVERLOADED', []]);
  expect(waiting).toBeLessThanOrEqual(6);
  expect(new Set(await Promise.all(approving))).toEqual(new Set(['done', 'OVERLOADED']));
});
