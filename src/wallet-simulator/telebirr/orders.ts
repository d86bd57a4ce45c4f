import { formatAmount } from '../amount.ts';
import type { Payment } from '../payment.ts';
import type { Payments } from '../payments.ts';

/** The state of an order, in the words of `queryOrder`. The state of its newest refund replaces PAY_SUCCESS. */
export function orderStatus(payment: Payment, refunds: readonly Payment[] = []): string {
  const { state, outcome, promptedAt } = payment;
  if (state.status === 'failed') return state.code;
  if (state.status === 'completed') {
    const refund = refunds.at(-1);
    return refund === undefined ? 'PAY_SUCCESS' : refundStatus(refund);
  }
  if (promptedAt === undefined) return 'WAIT_PAY';
  return (outcome.ending.status === 'open' ? outcome.ending.shownAs : undefined) ?? 'PAYING';
}

export const refundStatus = ({ state }: Payment): string =>
  ({ open: 'REFUNDING', completed: 'REFUND_SUCCESS', failed: 'REFUND_FAILED' })[state.status];

/** With two decimals, as telebirr writes it. */
export function birr(units: bigint): string {
  const [whole = '0', decimals = ''] = formatAmount(units).split('.');
  return `${whole}.${decimals.padEnd(2, '0')}`;
}

/** East Africa Time, three hours ahead of UTC, without daylight saving: `2025-10-13 19:19:38`. */
export const localTime = (at: Date): string =>
  new Date(at.getTime() + 3 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ');

/** The content of an answer of `queryOrder`. */
export function orderContent(payment: Payment, payments: Payments): object {
  const isPaid = payment.state.status === 'completed';
  return {
    merch_order_id: payment.requestId,
    order_status: orderStatus(payment, payments.refundsOf(payment.requestId)),
    payment_order_id: String(payment.details['payment_order_id']),
    trans_time: localTime(payment.endedAt ?? payment.createdAt),
    trans_currency: payment.currency,
    total_amount: birr(payment.amount),
    ...(isPaid ? { trans_id: payment.reference } : {}),
  };
}

/** The words of notifications differ from those of `queryOrder`. */
export function noticeStatus(payment: Payment): string {
  if (payment.state.status === 'completed') return 'Completed';
  if (payment.state.status !== 'failed') return 'Paying';
  return payment.state.code === 'ORDER_CLOSED' ? 'Expired' : 'Failure';
}
