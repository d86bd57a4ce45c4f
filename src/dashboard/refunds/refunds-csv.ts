import { RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { Refund } from '../../gen/gatehouse/v1/order_pb.js';
import { csvField, csvLine, csvMark, csvName } from '../csv/csv-text.ts';
import { csvTimes } from '../csv/csv-time.ts';

/** Refunds as a table in CSV: the lines before the first refund, and the lines of some. */
export interface RefundsCsv {
  readonly start: string;
  readonly lines: (page: { readonly refunds: readonly Refund[] }) => string;
}

/** Times are in the IANA time zone that the heading names. */
export function refundsCsv(timeZone: string): RefundsCsv {
  const time = csvTimes(timeZone);
  // Programs of merchants read columns by their place, so a new one goes to the end.
  const columns: readonly { readonly name: string; readonly field: (refund: Refund) => string }[] = [
    { name: 'refund_id', field: ({ refundId }) => csvField(refundId) },
    { name: 'refund_number', field: ({ refundNumber }) => csvName(refundNumber) },
    { name: 'order_id', field: ({ orderId }) => csvField(orderId) },
    { name: 'order_number', field: ({ orderNumber }) => csvName(orderNumber) },
    { name: 'status', field: ({ status }) => csvField(RefundStatus[status]) },
    { name: 'amount', field: ({ amount }) => csvField(amount) },
    { name: 'currency', field: ({ currency }) => csvField(currency) },
    { name: 'payment_option', field: ({ paymentOption }) => csvField(paymentOption) },
    { name: 'wallet_transaction', field: ({ providerTransactionId }) => csvName(providerTransactionId) },
    { name: 'wallet_reference', field: ({ providerReference }) => csvName(providerReference) },
    { name: 'reason', field: ({ reason }) => csvName(reason) },
    { name: 'failure_reason', field: ({ failureReason }) => csvField(failureReason) },
    { name: 'requested_by', field: ({ requestedBy }) => csvName(requestedBy) },
    { name: 'decided_by', field: ({ decidedBy }) => csvName(decidedBy) },
    { name: `created (${timeZone})`, field: ({ createTime }) => time(createTime) },
    { name: `updated (${timeZone})`, field: ({ updateTime }) => time(updateTime) },
  ];
  return {
    start: csvMark + csvLine(columns.map(({ name }) => csvField(name))),
    lines: ({ refunds }) =>
      refunds.map((refund) => csvLine(columns.map(({ field }) => field(refund)))).join(''),
  };
}
