import { isPaymentOption } from '../../contract/payment-option.ts';
import { Currency } from '../domain/currency.ts';
import { Money } from '../domain/money.ts';
import type { PaymentOption } from '../domain/order.ts';
import type { ReportRow } from './read-report.sql.ts';

export interface CollectedAmount {
  readonly currency: string;
  readonly amount: string;
  readonly orders: bigint;
}

/** Money that wallets confirmed as refunded. */
export interface RefundedAmount {
  readonly currency: string;
  readonly amount: string;
  readonly refunds: bigint;
}

export interface OrderCounts {
  readonly registered: bigint;
  readonly completed: bigint;
  readonly failed: bigint;
  readonly expired: bigint;
  /** The failed orders that ended without a failed payment. */
  readonly cancelled: bigint;
  /** By currency code. */
  readonly collected: readonly CollectedAmount[];
  /** By currency code. */
  readonly refunded: readonly RefundedAmount[];
}

export interface OptionCounts {
  readonly option: PaymentOption;
  readonly succeeded: bigint;
  readonly failed: bigint;
  readonly collected: readonly CollectedAmount[];
  readonly refunded: readonly RefundedAmount[];
}

export interface ReasonCount {
  readonly reason: string;
  readonly count: bigint;
}

export interface OrderReport {
  readonly total: OrderCounts;
  /** One item per step, in order. */
  readonly steps: readonly OrderCounts[];
  /** The reasons of failed payments, the most frequent first. */
  readonly failures: readonly ReasonCount[];
  /** The reasons of orders that ended without a failed payment, the most frequent first. */
  readonly abandoned: readonly ReasonCount[];
  readonly options: readonly OptionCounts[];
}

/** Combines the rows of a period into its steps. */
export function orderReport(rows: readonly ReportRow[], stepCount: number): OrderReport {
  const byStep = Map.groupBy(rows, ({ step }) => step);
  return {
    total: countsOf(rows),
    steps: Array.from({ length: stepCount }, (_, step) => countsOf(byStep.get(step) ?? [])),
    failures: reasonsOf(rows.filter((row) => row.reason !== '' && !isAbandonment(row))),
    abandoned: reasonsOf(rows.filter(isAbandonment)),
    options: [...new Set(rows.map((row) => row.payment_option).filter(isPaymentOption))]
      .sort()
      .map((option) =>
        optionCountsOf(
          option,
          rows.filter((row) => row.payment_option === option),
        ),
      ),
  };
}

/** Whether these orders ended without a failed payment: they were cancelled, expired, or their last payment was not sent. */
const isAbandonment = ({ type, payment_option }: ReportRow): boolean =>
  type === 'EXPIRED' || (type === 'FAILED' && payment_option === '');

function reasonsOf(rows: readonly ReportRow[]): ReasonCount[] {
  const counts = new Map<string, bigint>();
  for (const { reason, events } of rows) counts.set(reason, (counts.get(reason) ?? 0n) + BigInt(events));
  return [...counts]
    .map(([reason, count]) => ({ reason, count }))
    .sort((a, b) => Number(b.count - a.count) || (a.reason < b.reason ? -1 : 1));
}

function countsOf(rows: readonly ReportRow[]): OrderCounts {
  return {
    registered: eventsOf(rows, 'CREATED'),
    completed: eventsOf(rows, 'COMPLETED'),
    failed: eventsOf(rows, 'FAILED'),
    expired: eventsOf(rows, 'EXPIRED'),
    cancelled: eventsOf(rows.filter(isAbandonment), 'FAILED'),
    collected: collectedIn(rows),
    refunded: refundedIn(rows),
  };
}

const optionCountsOf = (option: PaymentOption, rows: readonly ReportRow[]): OptionCounts => ({
  option,
  succeeded: eventsOf(rows, 'COMPLETED'),
  failed: eventsOf(rows, 'PAYMENT_DECLINED') + eventsOf(rows, 'FAILED'),
  collected: collectedIn(rows),
  refunded: refundedIn(rows),
});

const eventsOf = (rows: readonly ReportRow[], type: ReportRow['type']): bigint =>
  rows.reduce((sum, row) => (row.type === type ? sum + BigInt(row.events) : sum), 0n);

const collectedIn = (rows: readonly ReportRow[]): CollectedAmount[] =>
  sumsOf(rows, 'COMPLETED').map(({ count: orders, ...money }) => ({ ...money, orders }));

const refundedIn = (rows: readonly ReportRow[]): RefundedAmount[] =>
  sumsOf(rows, 'REFUND_COMPLETED').map(({ count: refunds, ...money }) => ({ ...money, refunds }));

/** The money of one type of events, by currency code. */
function sumsOf(rows: readonly ReportRow[], type: ReportRow['type']) {
  const byCurrency = Map.groupBy(
    rows.filter((row) => row.type === type),
    ({ currency }) => currency,
  );
  return [...byCurrency]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, rowsOfCurrency]) => {
      const minorUnits = rowsOfCurrency.reduce((sum, row) => sum + BigInt(row.minor_units), 0n);
      const amount = Money.formatMinorUnits(minorUnits, Currency.of(currency));
      return { currency, amount, count: eventsOf(rowsOfCurrency, type) };
    });
}
