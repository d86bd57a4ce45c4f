import { parseAmount } from '../amount.ts';
import { losesRefundAnswer } from '../payer-outcomes.ts';
import type { Payment } from '../payment.ts';
import { findOrder, newReceipt, textOf } from './create-order.ts';
import { FabricError, unavailable } from './fabric-error.ts';
import { birr, refundStatus } from './orders.ts';
import type { Fields } from './signing.ts';
import type { Telebirr } from './telebirr-state.ts';

/** Refunds a payment or a part of it. @throws FabricError */
export function refund(telebirr: Telebirr, content: Fields): object {
  const { context, payments } = telebirr;
  const original = findOrder(telebirr, content);
  const requestId = String(content['refund_request_no']);
  const answer = (payment: Payment, status: string): object => ({
    merch_code: content['merch_code'],
    merch_order_id: original.requestId,
    trans_order_id: String(original.details['payment_order_id']),
    refund_order_id: payment.reference,
    refund_amount: birr(payment.amount),
    refund_currency: payment.currency,
    refund_status: status,
    ...(payment.state.status === 'completed'
      ? { refund_time: String(payment.endedAt?.getTime() ?? '') }
      : {}),
  });
  const earlier = payments.find('refund', requestId);
  if (earlier !== undefined) return answer(earlier, 'REFUND_DUPLICATED');
  const amount = parseAmount(
    textOf(content['actual_amount']) ?? textOf(content['refund_amount']) ?? birr(original.amount),
  );
  const left = payments
    .refundsOf(original.requestId)
    .filter(({ state }) => state.status !== 'failed')
    .reduce((rest, { amount: taken }) => rest - taken, original.amount);
  if (original.state.status !== 'completed' || amount <= 0n || amount > left) {
    throw new FabricError(299, '60320025', 'Failed to call the payment platform');
  }
  const payment = payments.open({
    kind: 'refund',
    requestId,
    reference: newReceipt(context.randomBytes),
    original: original.requestId,
    payer: original.payer,
    amount,
    currency: original.currency,
    description: textOf(content['refund_reason']) ?? '',
    channel: 'page',
    merchantReference: requestId,
    details: {},
    expiresAt: new Date(context.now().getTime() + context.delaysMs.promptExpiry),
    awaitsPerson: false,
  });
  const { refund: course } = original.outcome;
  if (course === 'refused') {
    payments.end(payment, 'REFUND_FAILED');
    return answer(payment, refundStatus(payment));
  }
  payments.scheduleOutcome(payment);
  if (losesRefundAnswer(original.outcome)) throw unavailable;
  return answer(payment, refundStatus(payment));
}
