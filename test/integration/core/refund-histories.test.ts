import { beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  CheckResult,
  CheckSubject,
  DiagnosticsService,
} from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { RefundStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { StatementEntryType } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import type { Difference } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { publicId, storedId } from '../../support/ids.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { refusable } from './payment-histories.ts';
import { paymentEntry, sharedReconciliationDesk } from './reconciliation-desk.ts';
import type { Entry } from './reconciliation-desk.ts';

/*
 * Random histories of one order's money on PostgreSQL and two cores. They combine concurrent refunds, a second charge that becomes a stray
 * payment, lost answers, killed workers, and reconciliations with the wallet's statement. The wallet is a model. It executes each name
 * once, and never refuses an amount that is too large, so that an overdraft becomes visible.
 */

const stack = sharedStack({ cores: 2, facades: 0 });
const desk = sharedPaymentDesk(stack);
const reconciler = sharedReconciliationDesk(stack);
const operator = sharedClient(stack, RefundService, 'operator');
/** Refunds of an order above 60 ETB together wait for an approval. */
const approvalLimits = [{ currency: 'ETB', amount: '60' }];

let merchantId: string;
beforeAll(async () => {
  ({ id: merchantId } = await stack.createMerchant());
  const merchants = stack.client(MerchantService, 'operator');
  await merchants.updateMerchant({ merchantId, refundPolicy: { approvalLimits } });
});

/** The wallet's reaction to a request. `dies` ends the worker, and thereby loses the answer. */
const words = ['answers', 'loses its answer', 'refuses', 'dies, having paid', 'dies'] as const;
type Word = (typeof words)[number];

type Move =
  | { readonly type: 'refund'; readonly amount: string }
  | { readonly type: 'serve'; readonly word: Word }
  | { readonly type: (typeof others)[number] };
const others = ['repeat', 'approve', 'decline', 'charge again', 'retry the stray', 'reconcile'] as const;

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('refund' as const),
      amount: fc.constantFrom('', '0.01', '40', '60.50', '60.51', '100.50'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('serve' as const), word: fc.constantFrom(...words) }),
  },
  fc.record({ type: fc.constantFrom(...others) }),
);
/** The steps of each inner list happen at the same time. */
const history = fc.array(fc.array(move, { minLength: 1, maxLength: 5 }), { minLength: 3, maxLength: 8 });

/** A refused, a declined, a lost and a COMPLETED refund beside a second charge. */
const everyEnd: Move[][] = [
  [{ type: 'refund', amount: '40' }],
  [{ type: 'serve', word: 'refuses' }],
  [{ type: 'refund', amount: '60.51' }, { type: 'charge again' }, { type: 'reconcile' }],
  [{ type: 'decline' }, { type: 'serve', word: 'loses its answer' }],
  [{ type: 'refund', amount: '0.01' }, { type: 'serve', word: 'dies, having paid' }, { type: 'reconcile' }],
];

/** The wallet's payments and returns in all histories. Its statements contain all of them. */
const ledger = {
  payments: new Map<string, { readonly minorUnits: number; readonly requestId: string }>(),
  /** By the name of the request, which is our id. */
  returns: new Map<string, { readonly transaction: string; readonly minorUnits: number }>(),
};

const minorUnitsOf = (amount: string): number => Math.round(Number(amount) * 100);
const decimalOf = (minorUnits: number): string => (minorUnits / 100).toFixed(2);

const statement = (): Entry[] => [
  ...[...ledger.payments].map(([providerTransactionId, { minorUnits, requestId }]) =>
    paymentEntry({ providerTransactionId, amount: decimalOf(minorUnits), requestId }),
  ),
  ...[...ledger.returns].map(([name, { transaction, minorUnits }]) =>
    paymentEntry({
      type: StatementEntryType.REVERSAL,
      providerTransactionId: `returned ${name}`,
      originalTransactionId: transaction,
      amount: decimalOf(minorUnits),
      requestId: name,
    }),
  ),
];

type Outcome = Parameters<typeof desk.recordRefund>[1];

/** A request of core to return money. */
interface Task {
  readonly name: string;
  readonly transaction: string;
  readonly minorUnits: number;
  readonly record: (outcome: Outcome) => Promise<unknown>;
  readonly lapse: () => Promise<unknown>;
}

async function leaseTasks(limit: number): Promise<Task[]> {
  const [due, reversals] = await Promise.all([desk.leaseRefunds(limit), desk.leaseReversals(limit)]);
  const lapse = (table: string, id: string) =>
    desk.query(`update core.${table} set due_at = now() where id = $1 and due_at is not null`, [id]);
  return [
    ...due.map((leased) => ({
      name: leased.refund?.refundId ?? '',
      transaction: leased.refund?.providerTransactionId ?? '',
      minorUnits: minorUnitsOf(leased.refund?.amount ?? ''),
      record: (outcome: Outcome) => desk.recordRefund(leased, outcome),
      lapse: () => lapse('refunds', storedId('rfd', leased.refund?.refundId ?? '')),
    })),
    ...reversals.map(({ strayPayment, leaseId, reversalId }) => ({
      name: reversalId,
      transaction: strayPayment?.providerTransactionId ?? '',
      minorUnits: minorUnitsOf(strayPayment?.amount ?? ''),
      record: (outcome: Outcome) =>
        desk.reversals.recordReversalOutcome({
          ...{ merchantId, strayPaymentId: strayPayment?.strayPaymentId ?? '', leaseId, outcome },
        }),
      lapse: () => lapse('stray_payments', storedId('stp', strayPayment?.strayPaymentId ?? '')),
    })),
  ];
}

function carryOut({ name, transaction, minorUnits }: Task): void {
  if (!ledger.returns.has(name)) ledger.returns.set(name, { transaction, minorUnits });
}

async function serve(task: Task, word: Word): Promise<void> {
  switch (word) {
    case 'answers':
      carryOut(task);
      await task.record({ case: 'done', value: {} });
      return;
    case 'loses its answer':
      carryOut(task);
      await task.record({ case: 'pending', value: { detail: 'no answer' } });
      return;
    case 'refuses':
      await task.record(
        ledger.returns.has(task.name)
          ? { case: 'done', value: {} }
          : { case: 'refused', value: { reason: 'account_state', detail: 'closed', definite: true } },
      );
      return;
    case 'dies, having paid':
      carryOut(task);
      await task.lapse();
      return;
    case 'dies':
      await task.lapse();
      return;
  }
}

interface Subject {
  readonly orderId: string;
  readonly orderNumber: string;
  /** The attempt that the wallet declined at first. */
  readonly declinedAttemptId: string;
}

let orders = 0;

/** An order of 100.50 ETB that was declined once, and then paid. */
async function paidOrder(): Promise<Subject> {
  orders += 1;
  const orderNumber = `H-${orders}`;
  const hosted = await desk.registerHosted({ merchantId, orderNumber });
  const declined = await desk.payHosted(hosted);
  await desk.settle(declined, outcomes.declined());
  const paid = await desk.payHosted(hosted);
  ledger.payments.set(`${orderNumber}-paid`, { minorUnits: 10_050, requestId: paid.attemptId });
  await desk.settle(paid, outcomes.completed(`${orderNumber}-paid`));
  return { orderId: hosted.orderId, orderNumber, declinedAttemptId: declined.attemptId };
}

/** The wallet charges the declined attempt nevertheless, and reports it by a callback. */
async function chargeAgain(subject: Subject): Promise<void> {
  const { orderNumber, declinedAttemptId: attemptId } = subject;
  const transaction = `${orderNumber}-again`;
  if (ledger.payments.has(transaction)) return;
  ledger.payments.set(transaction, { minorUnits: 10_050, requestId: attemptId });
  await query(subject);
}

/** A callback about the declined attempt. A worker then queries the wallet, which returns the true outcome. */
async function query({ declinedAttemptId: attemptId }: Subject): Promise<void> {
  await desk.queryNow(merchantId, storedId('pat', attemptId));
  const charged = new Map([...ledger.payments].map(([id, { requestId }]) => [requestId, id]));
  for (const leased of await desk.lease()) {
    const transaction = charged.get(leased.paymentAttempt?.paymentAttemptId ?? '');
    await desk.record(
      leased,
      transaction === undefined ? outcomes.declined() : outcomes.completed(transaction),
    );
  }
}

async function makeMove(subject: Subject, each: Move, number: string): Promise<readonly Difference[]> {
  const { orderId, orderNumber } = subject;
  const request = (refundNumber: string, amount: string) =>
    desk.refund(merchantId, orderNumber, { refundNumber, amount });
  const listed = async () => (await desk.refunds.listRefunds({ merchantId, orderId })).refunds;
  switch (each.type) {
    case 'refund':
      await refusable(request(`${orderNumber}/${number}`, each.amount));
      return [];
    case 'repeat':
      for (const { refundNumber, amount } of await listed()) await refusable(request(refundNumber, amount));
      return [];
    case 'approve':
    case 'decline': {
      const decide = each.type === 'approve' ? operator.approveRefund : operator.declineRefund;
      for (const { refundId, status } of await listed())
        if (status === RefundStatus.AWAITING_APPROVAL) await refusable(decide({ merchantId, refundId }));
      return [];
    }
    case 'serve':
      for (const task of await leaseTasks(2)) await refusable(serve(task, each.word));
      return [];
    case 'charge again':
      await chargeAgain(subject);
      return [];
    case 'retry the stray':
      for (const { strayPaymentId } of await desk.strays(merchantId))
        await refusable(desk.strayPayments.retryReversal({ merchantId, strayPaymentId }));
      return [];
    case 'reconcile':
      return (await reconciler.reconcileWith(today(), statement)).differences;
  }
}

const today = (): string => new Date().toISOString().slice(0, 10);

/** Finishes the remaining work: operators decide approvals, and the wallet answers. */
async function finish(subject: Subject): Promise<void> {
  await makeMove(subject, { type: 'decline' }, 'end');
  await query(subject);
  await waitUntil('all money is where it belongs', async () => {
    await makeMove(subject, { type: 'retry the stray' }, 'end');
    for (const table of ['refunds', 'stray_payments'])
      await desk.query(`update core.${table} set due_at = now() where due_at > now()`);
    for (const task of await leaseTasks(100)) await serve(task, 'answers');
    const [open] = await desk.query<{ count: number }>(`
      select (select count(*) from core.refunds where status = 'REVERSAL_DUE')::int
      + (select count(*) from core.stray_payments where status <> 'REVERSED')::int as count`);
    return open?.count === 0;
  });
}

/** A difference that says only that a wallet's answer has not arrived yet. */
const isOfOpenWork = ({ ourStatus }: Difference): boolean =>
  ['reversal_due', 'declined', 'timed_out', 'undecided'].includes(ourStatus);

async function faultsOf({ orderId, orderNumber }: Subject): Promise<string[]> {
  const faults: string[] = [];
  const stored = storedId('ord', orderId);
  const returned = (transaction: string) =>
    [...ledger.returns].filter(([, each]) => each.transaction === transaction);
  const sum = (amounts: readonly number[]) => amounts.reduce((total, each) => total + each, 0);
  for (const [transaction, { minorUnits }] of ledger.payments) {
    const total = sum(returned(transaction).map(([, each]) => each.minorUnits));
    if (total > minorUnits) faults.push(`${transaction} of ${minorUnits} was returned with ${total}`);
  }
  const rows = await desk.query<{ id: string; status: string; amount: number }>(sql`
    select id, status, amount_minor_units::int as amount from core.refunds where order_id = ${stored}`);
  const ofWallet = new Map(returned(`${orderNumber}-paid`).map(([name, each]) => [name, each.minorUnits]));
  for (const { id, status, amount } of rows) {
    const expected = status === 'REVERSED' ? amount : undefined;
    const name = publicId('rfd', id);
    if (ofWallet.get(name) !== expected)
      faults.push(`${name} is ${status} with ${amount}, the wallet returned ${ofWallet.get(name)}`);
    ofWallet.delete(name);
  }
  faults.push(...[...ofWallet.keys()].map((name) => `${name} was returned for no refund`));
  const [order] = await desk.query<{ refunded: number; deducted: number }>(sql`
    select coalesce(refunded_minor_units, 0)::int as refunded, deducted_minor_units::int as deducted
    from core.orders where id = ${stored}`);
  const completed = sum(rows.filter(({ status }) => status === 'REVERSED').map(({ amount }) => amount));
  if (order?.refunded !== completed || completed > order.deducted)
    faults.push(`the order says ${JSON.stringify(order)}, its refunds ${completed}`);
  const charged = ledger.payments.has(`${orderNumber}-again`);
  const again = returned(`${orderNumber}-again`).map(([, { minorUnits }]) => minorUnits);
  if (again.join() !== (charged ? '10050' : ''))
    faults.push(`the second charge went back as ${again.join()}`);
  return faults;
}

test('concurrent refunds, stray payments and reconciliations return no money twice, and only open work differs', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(history, async (rounds) => {
      const subject = await paidOrder();
      for (const [round, together] of rounds.entries()) {
        // One reconciliation of a wallet and day runs at a time.
        const first = together.findIndex(({ type }) => type === 'reconcile');
        const moves = together.filter(({ type }, index) => type !== 'reconcile' || index === first);
        const found = await Promise.all(
          moves.map((each, index) => makeMove(subject, each, `${round}-${index}`)),
        );
        expect(found.flat().filter((each) => !isOfOpenWork(each))).toEqual([]);
        if (found.flat().length > 0) seen.add('difference of open work');
      }
      await finish(subject);
      expect(await faultsOf(subject)).toEqual([]);
      expect((await reconciler.reconcileWith(today(), statement)).differences).toEqual([]);
    }),
    { numRuns: 12, examples: [[everyEnd]] },
  );
  const rows = await desk.query<{ status: string }>('select distinct status::text from core.refunds');
  for (const { status } of rows) seen.add(status);
  if ((await desk.strays(merchantId)).length > 0) seen.add('stray');
  expect([...seen]).toEqual(
    expect.arrayContaining(['stray', 'REVERSED', 'REVERSAL_REFUSED', 'APPROVAL_DECLINED']),
  );

  const { checks } = await stack.client(DiagnosticsService, 'reader').diagnose({});
  for (const subject of [CheckSubject.ORDER_HISTORIES, CheckSubject.MONEY])
    expect(checks.find((check) => check.subject === subject)).toMatchObject({ result: CheckResult.OK });
});
