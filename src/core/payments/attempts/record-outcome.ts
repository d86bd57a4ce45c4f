import { optionsOfWallet, walletOf } from '../../../contract/payment-option.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import { PaymentAttemptRow } from '../../database/entities.ts';
import type { Order, PaymentAttempt } from '../../domain/order.ts';
import type { Result } from '../../domain/result.ts';
import type { OutcomeReport } from '../../domain/wallet-outcome.ts';
import { decideOutcome } from '../../domain/wallet-outcome.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { findStrayPayment, recordStrayPayment } from '../changes/found-stray-payment.ts';
import { orderOfAttempt } from '../changes/read-order.ts';
import { workOf } from './attempt-work-row.ts';
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
}

export type OutcomeRefusal = 'not_found' | 'lease_lost' | 'sent_before';
export type RecordOutcome = (report: AttemptReport) => Promise<Result<RecordedOutcome, OutcomeRefusal>>;

export interface RecordOutcomeParts {
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly newId: NewId;
}

interface Reported {
  readonly row: PaymentAttemptRow;
  readonly isTransactionTaken: boolean;
}

/**
 * Records a wallet's report and its consequences in one transaction. A report is recorded once. A repeat after a lost
 * answer gets the first decision.
 */
export function createRecordOutcome({ changes, newId }: RecordOutcomeParts): RecordOutcome {
  return async (report) => {
    const { outcome, exchanges, requestId } = report;
    const key = { merchantId: storedId('mer', report.merchantId), id: storedId('pat', report.attemptId) };
    return changes.change(orderOfAttempt(key), {
      requestId,
      async read(em): Promise<Reported> {
        const row = await em.findOneOrFail(PaymentAttemptRow, key);
        const isTransactionTaken =
          outcome.type === 'completed' &&
          row.leasedUntil != null &&
          (await hasPaidAnother(em, row, outcome.providerTransactionId));
        return { row, isTransactionTaken };
      },
      decide: (order, { row, isTransactionTaken }, now) =>
        decideOutcome(order, workOf(row), report, isTransactionTaken, now),
      async write(em, decided, { context: { row }, order, now: at }): Promise<RecordedOutcome> {
        if (decided.isRepeat) {
          const known = outcome.type === 'completed' ? await findStrayPayment(em, row, outcome) : undefined;
          const { attempt, dueAt } = workOf(row);
          return { order, attempt, dueAt, strayPaymentId: known ?? '' };
        }
        const { changed, stray, attempt, dueAt, maybeSent, updates, isDecisive: areDecisive } = decided;
        const strayPaymentId =
          stray === undefined ? '' : await recordStrayPayment(em, newId, row, stray.kind, stray.money, at);
        await keepExchanges(em, row, { exchanges, areDecisive, newId, at });
        Object.assign(row, { ...updates, maybeSent, dueAt, leasedUntil: null });
        return { order: changed?.order ?? order, attempt, dueAt, strayPaymentId };
      },
    });
  };
}

/** One wallet transaction pays one order. A second use is an error of the wallet or fraud. */
export async function hasPaidAnother(
  em: EntityManager,
  row: PaymentAttemptRow,
  transaction: string,
): Promise<boolean> {
  const { environment, merchantId, id } = row;
  const paymentOption = { $in: [...optionsOfWallet(walletOf(row.paymentOption))] };
  const others = await em.find(
    PaymentAttemptRow,
    { environment, paymentOption, providerTransactionId: transaction, status: 'SUCCEEDED' },
    { limit: 2, disableIdentityMap: true },
  );
  return others.some((other) => other.id !== id || other.merchantId !== merchantId);
}
