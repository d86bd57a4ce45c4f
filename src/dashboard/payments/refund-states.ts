import { RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order, OrderEvent, Refund } from '../../gen/gatehouse/v1/order_pb.js';
import { decimalText, placesOf, unitsOf } from './decimal-text.ts';

/** The states of refunds by their words in a query. */
export const refundStates = {
  awaiting: [RefundStatus.AWAITING_APPROVAL],
  pending: [RefundStatus.REQUESTED, RefundStatus.SENT, RefundStatus.UNKNOWN],
  completed: [RefundStatus.COMPLETED],
  failed: [RefundStatus.FAILED],
} as const;
export type RefundState = keyof typeof refundStates;

/** The statuses of refunds that can still change. */
export const openRefundStatuses: readonly RefundStatus[] = [
  ...refundStates.awaiting,
  ...refundStates.pending,
];

/** A status of a newer core is shown as pending. */
export const refundStateOf = (status: RefundStatus): RefundState =>
  (Object.keys(refundStates) as RefundState[]).find((name) =>
    (refundStates[name] as readonly RefundStatus[]).includes(status),
  ) ?? 'pending';

/** Whether the refund can still change. */
export const isOpenRefund = ({ status }: Pick<Refund, 'status'>): boolean =>
  status !== RefundStatus.COMPLETED && status !== RefundStatus.FAILED;

/** The refunds of an order that its story has, each in its current state. */
export function refundsIn(story: {
  readonly events: readonly OrderEvent[];
  readonly refunds: readonly Refund[];
}): Refund[] {
  const latest = new Map<string, Refund>();
  for (const { refund } of story.events) if (refund !== undefined) latest.set(refund.refundId, refund);
  for (const refund of story.refunds) latest.set(refund.refundId, refund);
  return [...latest.values()];
}

/** An order's refunded money as decimal text, with the decimals of `deducted`. */
export interface RefundSums {
  /** The sum of refunds that are not decided yet. */
  readonly pending: string;
  /** The amount that no refund covers. */
  readonly left: string;
  readonly isPending: boolean;
  readonly isAnythingLeft: boolean;
}

/** `refunds` may lack completed ones, because the order has their sum. */
export function refundSums({ deducted, refunded }: Order, refunds: readonly Refund[]): RefundSums {
  const places = placesOf(deducted);
  const sum = (of: readonly Refund[]): bigint =>
    of.reduce((units, { amount }) => units + (unitsOf(amount, places) ?? 0n), 0n);
  const pending = sum(refunds.filter(isOpenRefund));
  const left = (unitsOf(deducted, places) ?? 0n) - (unitsOf(refunded, places) ?? 0n) - pending;
  return {
    pending: decimalText(pending, places),
    left: decimalText(left < 0n ? 0n : left, places),
    isPending: pending > 0n,
    isAnythingLeft: left > 0n,
  };
}
