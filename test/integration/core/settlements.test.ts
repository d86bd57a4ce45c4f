import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { noMerchantId } from '../../../src/contract/public-id.ts';
import { publicId, storedId } from '../../support/ids.ts';
import type { User } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { CheckSubject, DiagnosticsService } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { Environment, OrderStatus, RefundStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderStoryService } from '../../../src/gen/gatehouse/v1/order_story_service_pb.js';
import {
  SettlementOutcome,
  SettlementService,
  SettlementStatus,
} from '../../../src/gen/gatehouse/v1/settlement_service_pb.js';
import {
  type RecordReversalOutcomeRequestSchema,
  StrayPaymentStatus,
} from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { duringChange } from '../../support/database-connections.ts';
import { makeOperatorsOld } from '../../support/dashboard-users.ts';
import { failureOf, refusalOf, wrongFields } from '../../support/rpc-failure.ts';
import { walletsOfCoreWithPaybill } from '../../support/simulated-wallets.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { asUser, sharedAccountDesk } from './account-desk.ts';
import { outcomes, sharedPaymentDesk, transactionOf, useOf } from './payment-desk.ts';
import type { Payment } from './payment-desk.ts';

const environment = Environment.SANDBOX;
// One of its wallets has receipt numbers.
const [walletA, walletB] = (JSON.parse(walletsOfCoreWithPaybill('174379')) as { wallets: object[] }).wallets;
const mpesa = { ...walletB, connector: 'mpesa-ethiopia', reconcile: false };
const settings = { GATEHOUSE_WALLETS: JSON.stringify({ wallets: [walletA, mpesa] }) };
const stack = sharedStack({ facades: 0, settings });
const desk = sharedPaymentDesk(stack);
const accounts = sharedAccountDesk(stack);
const settlements = sharedClient(stack, SettlementService, 'dashboard');
const byToken = sharedClient(stack, SettlementService, 'operator');

let operators: User[];
let merchantId: string;
beforeAll(async () => {
  operators = [await accounts.addUser(), await accounts.addUser()];
  await makeOperatorsOld(stack);
  operators.push(await accounts.addUser());
});
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

/** A call of the dashboard for an operator. */
const as = (index: number) => asUser(operators[index]);

type Subject = NonNullable<Parameters<typeof settlements.proposeSettlement>[0]['subject']>;
const evidence = { reason: 'The provider answered our case', providerReference: 'CASE-7' };
const proposal = (subject: Subject, outcome: SettlementOutcome, own = {}) => ({
  ...{ merchantId, subject, outcome, ...evidence, ...own },
});
/** The first operator proposes that the wallet took the money of an undecided payment. */
const proposePaid = ({ attemptId }: Payment, providerReference: string) =>
  settlements.proposeSettlement(
    proposal(attempt(attemptId), SettlementOutcome.PAID, { providerReference }),
    as(0),
  );
const confirm = (settlementId: string, index: number) =>
  settlements.confirmSettlement({ settlementId }, as(index));

/** One operator proposes, and another confirms. */
async function settle(subject: Subject, outcome: SettlementOutcome, own = {}): Promise<string> {
  const { settlement } = await settlements.proposeSettlement(proposal(subject, outcome, own), as(0));
  const settlementId = settlement?.settlementId ?? '';
  const confirmed = await confirm(settlementId, 1);
  expect(confirmed.settlement).toMatchObject({ status: SettlementStatus.CONFIRMED });
  return settlementId;
}

const attempt = (value: string) => ({ case: 'paymentAttemptId' as const, value });
const story = ({ orderId }: { readonly orderId: string }) =>
  stack.client(OrderStoryService, 'operator').getOrderStory({ merchantId, environment, orderId });

/** A payment about which its wallet has not answered for hours. */
async function undecided(
  orderNumber = 'D-1',
  phone = '0911223344',
  paymentOption = 'walleta_ussd',
): Promise<Payment> {
  const payment = await desk.startDirect({ merchantId, orderNumber, phone, paymentOption });
  await desk.settle(payment, outcomes.unknown());
  await desk.query(sql`
    update core.payment_attempts set created_at = created_at - interval '5 hours', prompt_until = prompt_until - interval '5 hours'
    where id = ${storedId('pat', payment.attemptId)}`);
  return payment;
}

test('waiting money is listed in pages, the longest wait first, with the total on each page', async () => {
  const started: string[] = [];
  for (const [index, hours] of [5, 7, 5].entries()) {
    const { attemptId } = await undecided(`PAGE-${index}`, `091122334${index}`);
    started.push(attemptId);
    await desk.query(sql`update core.payment_attempts
      set prompt_until = date_trunc('hour', now()) - make_interval(hours => ${hours})
      where id = ${storedId('pat', attemptId)}`);
  }
  const seen: string[] = [];
  let pageToken = '';
  do {
    const page = await settlements.listUnsettled({ merchantId, pageSize: 1, pageToken });
    expect([page.unsettled.length, page.totalCount]).toEqual([1, 3n]);
    seen.push(...page.unsettled.map(({ subject }) => subject.value ?? ''));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');

  expect(seen).toEqual([started[1], started[0], started[2]]);
  const other = await settlements.listUnsettled({ merchantId, pageSize: 1 });
  expect(await wrongFields(settlements.listUnsettled({ pageToken: other.nextPageToken }))).toBe('page_token');
});

describe('an undecided payment', () => {
  test('is listed with its age, keeps its order PENDING, and completes it when two operators settle it as paid', async () => {
    const payment = await undecided();
    const before = await story(payment);
    const { unsettled } = await settlements.listUnsettled({ merchantId });
    const { checks } = await stack.client(DiagnosticsService, 'operator').diagnose({});

    expect(before).toMatchObject({ undecidedPaymentAttemptId: payment.attemptId });
    expect(Date.now() - timestampDate(before.undecidedSince!).getTime()).toBeGreaterThan(4 * 3_600_000);
    expect(unsettled).toMatchObject([
      {
        ...{
          subject: attempt(payment.attemptId),
          amount: '100.50',
          currency: 'ETB',
          orderId: payment.orderId,
        },
        detail: 'no answer',
      },
    ]);
    const check = checks.find(({ subject }) => subject === CheckSubject.UNSETTLED);
    expect(check?.facts).toMatchObject({
      case: 'unsettled',
      value: { paymentAttemptCount: 1n, refundCount: 0n, ids: [payment.attemptId] },
    });
    expect(check?.detail).toContain('waiting for a person: 1 undecided payment');

    const providerReference = transactionOf(merchantId, 't-1');
    const subject = attempt(payment.attemptId);
    const settlementId = await settle(subject, SettlementOutcome.PAID, { providerReference });
    const after = await story(payment);
    expect(after).toMatchObject({
      order: { status: OrderStatus.COMPLETED, deducted: '100.50' },
      undecidedPaymentAttemptId: '',
      settlements: [{ settlementId, subject: attempt(payment.attemptId), ...evidence, providerReference }],
      paymentAttempts: [{ providerTransactionId: providerReference }],
    });
    expect(after.events.at(-1)).toMatchObject({ settlementId, sequence: 3n });
    expect((await settlements.listUnsettled({ merchantId })).unsettled).toEqual([]);
    const { entries } = await stack.client(AuditService, 'operator').listAuditEntries({ merchantId });
    const own = entries.filter(({ action }) => action.startsWith('settlement.'));
    expect(own.map(({ action, actor, targetId }) => [action, actor, targetId])).toEqual([
      ['settlement.confirm', `dashboard:${operators[1]?.userId}`, settlementId],
      ['settlement.propose', `dashboard:${operators[0]?.userId}`, settlementId],
    ]);
    const again = await confirm(settlementId, 1);
    expect(again.settlement?.status).toBe(SettlementStatus.CONFIRMED);
    expect(await refusalOf(confirm(settlementId, 0))).toBe('SETTLEMENT_NOT_OPEN');
    const withdrawn = settlements.withdrawSettlement({ settlementId }, as(0));
    expect(await refusalOf(withdrawn)).toBe('SETTLEMENT_NOT_OPEN');
    const notPaid = proposal(attempt(payment.attemptId), SettlementOutcome.NOT_PAID);
    expect(await refusalOf(settlements.proposeSettlement(notPaid, as(0)))).toBe('NOT_UNSETTLED');

    const other = await undecided('D-2');
    for (const stolen of [providerReference, `${providerReference} `, providerReference.toUpperCase()])
      expect(await wrongFields(proposePaid(other, stolen))).toBe('provider_reference');
  });

  test('makes a confirmed payment from the menu of its order due at once when it is settled as paid', async () => {
    const payment = await undecided('MENU-1');
    const payerPaymentId = await desk.reportFromMenu(merchantId, 'MENU-1');
    await desk.confirmFromMenu(merchantId, payerPaymentId, 'MENU-1');
    await desk.query(`
      update core.payer_payments set due_at = now() + interval '1 hour' where due_at is not null`);
    const providerReference = transactionOf(merchantId, 't-1');

    await settle(attempt(payment.attemptId), SettlementOutcome.PAID, { providerReference });

    expect(await desk.leaseFromMenu()).toMatchObject([{ payerPayment: { payerPaymentId } }]);
  });

  test('of M-Pesa is settled as paid only with a receipt number, in upper case', async () => {
    const payment = await undecided('M-1', '0911223344', 'walletb_ussd');

    for (const wrong of ['tgr7x1abcd', 'TGR7 X1ABCD', 'CASE-7'])
      expect(await wrongFields(proposePaid(payment, wrong))).toBe('provider_reference');
    const { settlement } = await proposePaid(payment, ' TGR7X1ABCD');
    expect(settlement).toMatchObject({ providerReference: 'TGR7X1ABCD' });
  });

  test('whose proposal names a transaction that paid another order meanwhile can only be withdrawn', async () => {
    const providerReference = transactionOf(merchantId, 't-1');
    const [first, second] = [await undecided(), await undecided('D-2', '0911223345')];
    const settlementId = (await proposePaid(second, providerReference)).settlement?.settlementId ?? '';
    await settle(attempt(first.attemptId), SettlementOutcome.PAID, { providerReference });

    expect(await wrongFields(confirm(settlementId, 1))).toBe('provider_reference');
    const { settlement } = await settlements.withdrawSettlement({ settlementId }, as(0));
    expect(settlement?.status).toBe(SettlementStatus.WITHDRAWN);
  });

  test('is not settled with a transaction that another core records for another payment at the same moment', async () => {
    const transaction = transactionOf(merchantId, 't-1');
    const [payment, other] = [await undecided(), await undecided('D-2', '0911223345')];
    const settlementId = (await proposePaid(payment, transaction)).settlement?.settlementId ?? '';

    const confirming = duringChange(stack.databaseUrl, useOf(transaction, other), () =>
      confirm(settlementId, 1),
    );

    expect(await wrongFields(confirming)).toBe('provider_reference');
  });

  test('settled as not paid ends, and money that its wallet still takes is stray and is returned', async () => {
    const payment = await undecided();
    await desk.makeDue(payment);
    const leased = await desk.take(payment);
    await settle(attempt(payment.attemptId), SettlementOutcome.NOT_PAID);
    expect(await story(payment)).toMatchObject({
      order: { status: OrderStatus.FAILED },
      paymentAttempts: [{ paymentAttempt: { declineReason: 'settled_by_operator' } }],
    });

    const { strayPaymentId } = await desk.record(leased, outcomes.completed('t-1'));
    expect(await desk.strays(merchantId)).toMatchObject([
      { strayPaymentId, status: StrayPaymentStatus.REVERSAL_DUE },
    ]);
  });
});

test('a stray payment that its wallet does not return is settled as returned, with an event', async () => {
  const payment = await desk.startDirect({ merchantId });
  const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));
  const subject = { case: 'strayPaymentId' as const, value: strayPaymentId };
  const returned = proposal(subject, SettlementOutcome.RETURNED);
  expect(await refusalOf(settlements.proposeSettlement(returned, as(0)))).toBe('NOT_UNSETTLED');
  await desk.query(sql`update core.stray_payments set status = 'REVERSAL_REFUSED', due_at = null
    where id = ${storedId('stp', strayPaymentId)}`);
  expect((await settlements.listUnsettled({ merchantId })).unsettled).toMatchObject([
    { subject, amount: '99.00' },
  ]);
  const kept = await failureOf(
    settlements.proposeSettlement({ ...returned, outcome: SettlementOutcome.PAID }, as(0)),
  );
  expect(JSON.stringify(kept)).toContain('must be RETURNED: stray money belongs to no order');

  const settlementId = await settle(subject, SettlementOutcome.RETURNED);

  expect(await desk.strays(merchantId)).toMatchObject([{ status: StrayPaymentStatus.REVERSED }]);
  expect((await story(payment)).events.at(-1)).toMatchObject({ strayPaymentId, settlementId });
  expect((await desk.history(payment)).at(-1)).toContain('STRAY_PAYMENT_SETTLED');
});

test('a stray payment whose reversal its wallet does not decide for more than an hour is reported, and settled as returned', async () => {
  const payment = await desk.startDirect({ merchantId });
  const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));
  const subject = { case: 'strayPaymentId' as const, value: strayPaymentId };
  const lease = async (): Promise<string> => {
    await desk.query(sql`
      update core.stray_payments set due_at = now() where id = ${storedId('stp', strayPaymentId)}`);
    return (await desk.leaseReversals())[0]?.leaseId ?? '';
  };
  const pending = { case: 'pending' as const, value: { detail: 'the answer was lost' } };
  const record = async (
    leaseId: string,
    outcome: MessageInitShape<typeof RecordReversalOutcomeRequestSchema>['outcome'] = pending,
  ): Promise<void> => {
    await desk.reversals.recordReversalOutcome({ merchantId, strayPaymentId, leaseId, outcome });
  };
  const query = async (): Promise<void> => record(await lease());
  const makeOld = () =>
    desk.query("update core.stray_payments set asked_since = now() - interval '61 minutes'");
  const waiting = async () => (await settlements.listUnsettled({ merchantId })).unsettled;

  for (let queries = 0; queries < 9; queries += 1) await query();
  const early = await waiting();
  const returned = proposal(subject, SettlementOutcome.RETURNED);
  expect(await refusalOf(settlements.proposeSettlement(returned, as(0)))).toBe('NOT_UNSETTLED');
  await makeOld();
  await query();

  expect(early).toEqual([]);
  expect(await waiting()).toMatchObject([{ subject, amount: '99.00' }]);
  const { checks } = await stack.client(DiagnosticsService, 'operator').diagnose({});
  expect(checks.find((check) => check.subject === CheckSubject.UNSETTLED)?.facts).toMatchObject({
    case: 'unsettled',
    value: { strayPaymentCount: 1n, ids: [strayPaymentId] },
  });
  const proposed = await settlements.proposeSettlement(returned, as(0));
  const settlementId = proposed.settlement?.settlementId ?? '';
  const leaseId = await lease();
  expect(await refusalOf(confirm(settlementId, 1))).toBe('WALLET_CALL_RUNNING');
  await record(leaseId, { case: 'refused', value: { detail: 'sent again and refused', definite: false } });
  await desk.strayPayments.retryReversal({ merchantId, strayPaymentId });
  await query();
  // The wallet may be executing the retry, so that a settlement as well would pay the payer twice.
  expect(await refusalOf(confirm(settlementId, 1))).toBe('NOT_UNSETTLED');
  await makeOld();
  await confirm(settlementId, 1);
  expect(await waiting()).toEqual([]);
  expect(await desk.strays(merchantId)).toMatchObject([
    { status: StrayPaymentStatus.REVERSED, settlementId },
  ]);
  expect((await story(payment)).events.at(-1)).toMatchObject({ strayPaymentId, settlementId });
});

test('a stray payment without an order is listed and settled as returned, once and by two operators', async () => {
  const payment = await desk.startDirect({ merchantId });
  const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));
  await desk.query(
    `with payer_payment as (
       insert into core.payer_payments (id, environment, wallet, payment_option, provider_transaction_id, reference, payee,
         amount, currency, status, created_at, updated_at)
       values (gen_random_uuid(), 'SANDBOX', 'walleta', 'walleta_ussd', $1, 'none', '1', '99.00', 'ETB', 'STRAY', now(), now())
       returning id)
     update core.stray_payments set status = 'REVERSAL_REFUSED', due_at = null, merchant_id = $2, order_id = null,
       payment_attempt_id = null, payer_payment_id = (select id from payer_payment) where id = $1::uuid`,
    [storedId('stp', strayPaymentId), storedId('mer', noMerchantId)],
  );
  const subject = { case: 'strayPaymentId' as const, value: strayPaymentId };
  const returned = { ...proposal(subject, SettlementOutcome.RETURNED), merchantId: noMerchantId };
  const listed = async () => (await settlements.listUnsettled({ merchantId: noMerchantId })).unsettled;
  expect(await listed()).toMatchObject([{ subject, orderId: '', amount: '99.00' }]);

  const proposed = await Promise.allSettled(
    [0, 1].map((index) => settlements.proposeSettlement(returned, as(index))),
  );
  const open = proposed.filter(({ status }) => status === 'fulfilled');
  expect(open).toHaveLength(1);
  const proposer = proposed.findIndex(({ status }) => status === 'fulfilled');
  const settlementId = (await listed())[0]?.proposal?.settlementId ?? '';
  expect(await refusalOf(confirm(settlementId, proposer))).toBe('SECOND_OPERATOR_NEEDED');
  const { settlement } = await confirm(settlementId, 1 - proposer);
  expect(settlement).toMatchObject({ orderId: '', status: SettlementStatus.CONFIRMED });

  expect(await listed()).toEqual([]);
  expect(await desk.strays(noMerchantId)).toMatchObject([{ status: StrayPaymentStatus.REVERSED }]);
  expect(await refusalOf(settlements.proposeSettlement(returned, as(0)))).toBe('NOT_UNSETTLED');
});

describe('an undecided refund', () => {
  async function undecidedRefund() {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.completed('t-1'));
    const { refundId } = await desk.refund(merchantId, 'D-1');
    const subject = { case: 'refundId' as const, value: refundId };
    const early = proposal(subject, SettlementOutcome.RETURNED);
    expect(await refusalOf(settlements.proposeSettlement(early, as(0)))).toBe('NOT_UNSETTLED');
    const [leased] = await desk.leaseRefunds();
    await desk.recordRefund(leased!, { case: 'pending', value: { detail: 'lost' } });
    return { payment, subject };
  }

  test.each([
    [SettlementOutcome.RETURNED, RefundStatus.COMPLETED, '100.50', 'REFUND_COMPLETED', ''],
    [SettlementOutcome.NOT_RETURNED, RefundStatus.FAILED, '0.00', 'REFUND_FAILED', 'settled_by_operator'],
  ])('is settled as %s', async (outcome, status, refunded, event, failureReason) => {
    const { payment, subject } = await undecidedRefund();
    const settlementId = await settle(subject, outcome);

    expect(await story(payment)).toMatchObject({
      order: { status: OrderStatus.COMPLETED, refunded },
      refunds: [{ status, settlementId, failureReason }],
    });
    expect((await desk.history(payment)).at(-1)).toBe(`5 ${event}`);
  });

  test('is not settled while a worker queries the wallet, which may return the money now', async () => {
    const { payment, subject } = await undecidedRefund();
    const notReturned = proposal(subject, SettlementOutcome.NOT_RETURNED);
    const { settlement } = await settlements.proposeSettlement(notReturned, as(0));
    const settlementId = settlement?.settlementId ?? '';
    await desk.query('update core.refunds set due_at = now() where due_at is not null');
    const [leased] = await desk.leaseRefunds();

    expect(await refusalOf(confirm(settlementId, 1))).toBe('WALLET_CALL_RUNNING');
    await desk.recordRefund(leased!, { case: 'done', value: {} });

    expect(await story(payment)).toMatchObject({
      order: { refunded: '100.50' },
      refunds: [{ status: RefundStatus.COMPLETED }],
    });
    expect(await refusalOf(confirm(settlementId, 1))).toBe('NOT_UNSETTLED');
  });
});

describe('two operators are needed', () => {
  test('who are two persons, are not new, and do not both use a service token; a proposal expires', async () => {
    const payment = await undecided();
    const notPaid = proposal(attempt(payment.attemptId), SettlementOutcome.NOT_PAID);
    const actor = (name: string) => ({ headers: { 'x-gatehouse-actor': name } });
    const { settlement } = await byToken.proposeSettlement(notPaid, actor('anna'));
    const settlementId = settlement?.settlementId ?? '';

    expect(settlement).toMatchObject({ status: SettlementStatus.PROPOSED, decidedBy: '' });
    const byBen = byToken.confirmSettlement({ settlementId }, actor('ben'));
    expect(await refusalOf(byBen)).toBe('SECOND_OPERATOR_NEEDED');
    expect(await refusalOf(confirm(settlementId, 2))).toBe('OPERATOR_TOO_NEW');
    expect(await refusalOf(settlements.proposeSettlement(notPaid, as(2)))).toBe('OPERATOR_TOO_NEW');
    expect(await refusalOf(settlements.proposeSettlement(notPaid, as(0)))).toBe('SETTLEMENT_OPEN');
    const otherTerms = [{ providerReference: 'CASE-8' }, { reason: 'By phone' }];
    for (const terms of otherTerms) {
      const other = byToken.proposeSettlement({ ...notPaid, ...terms }, actor('anna'));
      expect(await refusalOf(other)).toBe('SETTLEMENT_OPEN');
    }
    const byNobody = settlements.confirmSettlement({ settlementId }, actor('nobody'));
    expect(await refusalOf(byNobody)).toBe('NOT_AN_OPERATOR');
    expect((await story(payment)).order?.status).toBe(OrderStatus.PENDING);

    await desk.query(sql`update core.settlements set expires_at = now() - interval '1 second'
      where id = ${storedId('stl', settlementId)}`);
    expect(await refusalOf(confirm(settlementId, 1))).toBe('SETTLEMENT_NOT_OPEN');
    const expired = { merchantId, statuses: [SettlementStatus.EXPIRED] };
    const { settlements: listed } = await settlements.listSettlements(expired);
    expect(listed).toMatchObject([{ settlementId, status: SettlementStatus.EXPIRED }]);

    const { settlement: second } = await settlements.proposeSettlement(notPaid, as(0));
    const own = { settlementId: second?.settlementId ?? '' };
    expect((await settlements.proposeSettlement(notPaid, as(0))).settlement).toMatchObject(own);
    expect(await refusalOf(confirm(own.settlementId, 0))).toBe('SECOND_OPERATOR_NEEDED');
    await settlements.withdrawSettlement(own, as(1));
    expect(await refusalOf(confirm(own.settlementId, 1))).toBe('SETTLEMENT_NOT_OPEN');
    expect((await story(payment)).order?.status).toBe(OrderStatus.PENDING);
  });

  test('who are both enabled, and not just enabled again, when it is confirmed', async () => {
    const payment = await undecided();
    const notPaid = proposal(attempt(payment.attemptId), SettlementOutcome.NOT_PAID);
    const { settlement } = await settlements.proposeSettlement(notPaid, as(0));
    const { email } = operators[0]!;
    await accounts.accounts[0].setUserDisabled({ email, isDisabled: true });

    expect(await refusalOf(confirm(settlement?.settlementId ?? '', 1))).toBe('SETTLEMENT_NOT_OPEN');
    await accounts.accounts[0].setUserDisabled({ email, isDisabled: false });
    expect(await refusalOf(confirm(settlement?.settlementId ?? '', 1))).toBe('OPERATOR_TOO_NEW');
    await makeOperatorsOld(stack);
  });

  test('with a reason and the provider’s reference, about something that exists', async () => {
    const missing = { merchantId, outcome: SettlementOutcome.PAID };
    expect(await wrongFields(settlements.proposeSettlement(missing, as(0)))).toBe(
      'payment_attempt_id provider_reference reason',
    );
    const unknown = proposal(attempt(publicId('pat', crypto.randomUUID())), SettlementOutcome.PAID);
    expect(await refusalOf(settlements.proposeSettlement(unknown, as(0)))).toBe('PAYMENT_ATTEMPT_NOT_FOUND');
    const settlementId = publicId('stl', crypto.randomUUID());
    expect(await refusalOf(confirm(settlementId, 0))).toBe('SETTLEMENT_NOT_FOUND');
  });
});
