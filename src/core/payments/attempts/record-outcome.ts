import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import { reachedTime } from '../../../platform/database/retention-start.ts';
import { eraseAgain } from '../../database/erase-again.sql.ts';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import { isErased } from '../../domain/erased.ts';
import type { Order, PaymentAttempt } from '../../domain/order.ts';
import type { Result } from '../../domain/result.ts';
import type { OutcomeReport } from '../../domain/wallet-outcome.ts';
import { decideOutcome, isReturnable, parseDebited } from '../../domain/wallet-outcome.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { findStrayPayment, recordStrayPayment } from '../changes/found-stray-payment.ts';
import { byAttempt } from '../changes/read-order.ts';
import { belongsTo, findReceipts } from '../changes/wallet-receipts.ts';
import type { ReportedTransaction } from '../changes/wallet-receipts.ts';
import { readOpenPayments, withPayer } from '../changes/open-payments.sql.ts';
import { workOf } from './attempt-work-row.ts';
import { countExchanges } from './count-exchanges.sql.ts';
import type { AttemptKey } from './count-exchanges.sql.ts';
import { keepExchanges } from './keep-exchanges.ts';

export interface AttemptReport extends OutcomeReport {
  readonly merchantId: PublicId<'mer'>;
  readonly attemptId: PublicId<'pat'>;
  readonly exchanges: readonly WalletExchange[];
  readonly requestId: string;
}

export interface RecordedOutcome {
  readonly order: Order;
  readonly attempt: PaymentAttempt;
  readonly dueAt: Date | null;
  /** The stray payment that recorded the money; '' when there is none. */
  readonly strayPaymentId: string;
  /** Whether no wallet can be asked to return that money. */
  readonly isNotReturnable: boolean;
}

export type OutcomeRefusal = 'not_found' | 'lease_lost' | 'sent_before';
export type RecordOutcome = (report: AttemptReport) => Promise<Result<RecordedOutcome, OutcomeRefusal>>;

export interface RecordOutcomeParts {
  readonly changes: Pick<OrderChanges, 'share'>;
  readonly newId: NewId;
  readonly wallets: readonly Wallet[];
  /** The time of this machine's clock. */
  readonly machineNow: () => Date;
}

interface Reported {
  readonly row: PaymentAttemptRow;
  /** Whether no use of the wallet's transaction is recorded yet. */
  readonly isTransactionNew: boolean;
  /** Whether it belongs to another attempt, or is stray money that a payer sent. One transaction is used once. */
  readonly isTransactionTaken: boolean;
  readonly isPayerPaying: (order: Order) => boolean;
}

const keyOf = (report: AttemptReport): AttemptKey => ({
  merchantId: storedId('mer', report.merchantId),
  id: storedId('pat', report.attemptId),
});

const transactionOf = (report: AttemptReport): ReportedTransaction[] =>
  report.outcome.type === 'completed' ? [{ ...keyOf(report), ...report.outcome }] : [];

/**
 * Records a wallet's report and its consequences in one transaction. A report is recorded once. A repeat after a lost
 * answer gets the first decision.
 */
export function createRecordOutcome({
  changes,
  newId,
  wallets,
  machineNow,
}: RecordOutcomeParts): RecordOutcome {
  return changes.share({
    orders: byAttempt,
    nameOf: keyOf,
    requestIdOf: ({ requestId }: AttemptReport) => requestId,
    // For all reports at once. Otherwise the ORM would write its changes before the reading for each report.
    load: async (em, reports) => ({
      storedOf: await countExchanges(em, reports.map(keyOf)),
      receipts: await findReceipts(em, reports.flatMap(transactionOf)),
    }),
    async read(em, { row: order, call: report, loaded: { receipts } }): Promise<Reported> {
      const { outcome } = report;
      const row = await em.findOneOrFail(PaymentAttemptRow, keyOf(report));
      const isPayerPaying = mayEndUnpaid(outcome, order)
        ? await readOpenPayments(em, wallets, [order])
        : () => false;
      if (outcome.type !== 'completed' || row.leasedUntil == null)
        return { row, isTransactionNew: false, isTransactionTaken: false, isPayerPaying };
      const receipt = receipts.of({ ...row, ...outcome });
      const isTransactionTaken = receipt !== null && !belongsTo(receipt, row);
      return { row, isTransactionNew: receipt === null, isTransactionTaken, isPayerPaying };
    },
    decide: (order, { row, isTransactionTaken, isPayerPaying }, now, { call: report }) =>
      decideOutcome(withPayer(order, isPayerPaying), workOf(row), report, isTransactionTaken, {
        now,
        reachedAt: reachedTime({ now: () => now, machineNow }),
      }),
    async write(em, decided, { taken, context, order, now: at }): Promise<RecordedOutcome> {
      const { row, isTransactionNew } = context;
      const { outcome, exchanges } = taken.call;
      if (decided.isRepeat) {
        const known = outcome.type === 'completed' ? await findStrayPayment(em, row, outcome) : undefined;
        const { attempt, dueAt } = workOf(row);
        return { order, attempt, dueAt, strayPaymentId: known ?? '', isNotReturnable: false };
      }
      const { changed, stray, attempt, dueAt, maybeSent, updates, isDecisive: areDecisive } = decided;
      const strayPaymentId =
        stray === undefined ? '' : await recordStrayPayment(em, row, stray.kind, stray.money, at);
      if (outcome.type === 'completed' && isTransactionNew) taken.loaded.receipts.use({ ...row, ...outcome });
      const stored = taken.loaded.storedOf(row);
      await keepExchanges(em, row, { exchanges, areDecisive, newId, at, stored });
      Object.assign(row, { ...updates, maybeSent, dueAt, leasedUntil: null });
      // A worker may report to an attempt that was decided without it, for example by a settlement, and erased since.
      if (isErased(order)) await eraseAgain(em, order);
      const isNotReturnable = stray !== undefined && !isReturnable(stray.money);
      return { order: changed?.order ?? order, attempt, dueAt, strayPaymentId, isNotReturnable };
    },
  });
}

/** Whether an outcome could end its order without money. */
function mayEndUnpaid(
  outcome: OutcomeReport['outcome'],
  { amountMinorUnits, currency }: Pick<OrderRow, 'amountMinorUnits' | 'currency'>,
): boolean {
  if (outcome.type === 'completed')
    return parseDebited(outcome)?.minorUnits !== amountMinorUnits || outcome.currency !== currency;
  return outcome.type !== 'pending' && outcome.type !== 'unknown';
}
