import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { OrderStatus, PaymentOption, PaymentType } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../gen/gatehouse/v1/order_pb.js';

const timeText = (time: Timestamp | undefined): string =>
  time === undefined ? '' : timestampDate(time).toISOString();

const columns: Readonly<Record<string, (order: Order) => string>> = {
  order_id: (order) => order.orderId,
  order_number: (order) => order.orderNumber,
  status: (order) => OrderStatus[order.status],
  amount: (order) => order.amount,
  deducted: (order) => order.deducted,
  currency: (order) => order.currency,
  payment_option: ({ paymentOption }) =>
    paymentOption === PaymentOption.UNSPECIFIED ? '' : PaymentOption[paymentOption].toLowerCase(),
  payment_type: (order) => PaymentType[order.paymentType],
  customer_phone: (order) => order.customerPhone,
  reason: (order) => order.reason,
  business_name: (order) => order.businessName,
  created_timestamp: (order) => timeText(order.createTime),
  updated_timestamp: (order) => timeText(order.updateTime),
  expires_timestamp: (order) => timeText(order.expireTime),
};

/** Excel reads UTF-8 by this alone. */
export const csvStart = `\uFEFF${Object.keys(columns).join(',')}\r\n`;

/** What a spreadsheet may take for a formula (OWASP, CSV injection): a quote in front makes it a text. */
const formula = /^[=+\-@\t\r\n]/;

/** A field as RFC 4180 writes it. */
function field(text: string): string {
  const safe = formula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Orders as lines of a table. */
export const csvLines = (orders: readonly Order[]): string =>
  orders
    .map(
      (order) =>
        `${Object.values(columns)
          .map((of) => field(of(order)))
          .join(',')}\r\n`,
    )
    .join('');
