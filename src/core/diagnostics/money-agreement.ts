import type { PublicId } from '../../contract/public-id.ts';

/** How the stored money of an order disagrees. */
export type MoneyFault =
  | 'payment_differs'
  | 'transaction_differs'
  | 'debited_differs'
  | 'refunded_differs'
  | 'refunds_exceed_debited'
  | 'refund_differs'
  | 'refund_without_event';

/** The money of one order, as its rows and its events say. All amounts are in the currency's minor unit. */
export interface StoredMoney {
  readonly isCompleted: boolean;
  readonly debited: bigint;
  readonly refunded: bigint;
  /** The successful payment attempts. `hasReceipt`: the wallet's transaction is recorded as the attempt's own. */
  readonly payments: readonly { readonly hasReceipt: boolean }[];
  readonly refunds: readonly {
    readonly id: PublicId<'rfd'>;
    readonly state: 'completed' | 'failed' | 'open';
    readonly amount: bigint;
  }[];
  /** The money by the events of the completion and of completed refunds. */
  readonly debitedByEvents: readonly bigint[];
  readonly refundsByEvents: ReadonlyMap<PublicId<'rfd'>, bigint>;
}

export interface FoundFault {
  readonly fault: MoneyFault;
  /** Undefined when the fault is not about one refund. */
  readonly refundId?: PublicId<'rfd'>;
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, each) => total + each, 0n);

/**
 * Every way in which the money of an order disagrees. Each amount is stored at least twice: in the order, in its payments and
 * refunds, and in events that are never changed. So the change of any row shows.
 */
export function moneyFaults(money: StoredMoney): FoundFault[] {
  const { isCompleted, debited, refunded, payments, refunds, debitedByEvents, refundsByEvents } = money;
  const of = (state: 'completed' | 'open') => refunds.filter((refund) => refund.state === state);
  const sumOf = (state: 'completed' | 'open') => sum(of(state).map(({ amount }) => amount));
  const orderFaults: readonly (readonly [MoneyFault, boolean])[] = [
    ['payment_differs', payments.length !== (isCompleted ? 1 : 0)],
    ['transaction_differs', payments.some(({ hasReceipt }) => !hasReceipt)],
    ['debited_differs', sum(debitedByEvents) !== debited],
    ['refunded_differs', sumOf('completed') !== refunded],
    ['refunds_exceed_debited', sumOf('completed') + sumOf('open') > debited],
  ];
  const completed = new Map(of('completed').map(({ id, amount }) => [id, amount]));
  const differing = [...refundsByEvents].filter(([id, amount]) => completed.get(id) !== amount);
  const withoutEvent = [...completed.keys()].filter((id) => !refundsByEvents.has(id));
  return [
    ...orderFaults.filter(([, isFault]) => isFault).map(([fault]) => ({ fault })),
    ...differing.map(([refundId]) => ({ fault: 'refund_differs' as const, refundId })),
    ...withoutEvent.map((refundId) => ({ fault: 'refund_without_event' as const, refundId })),
  ];
}
