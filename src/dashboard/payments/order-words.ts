import type { PaymentOptionName } from '../../contract/payment-options.ts';
import { optionOfNumber, paymentOptions } from '../../contract/payment-options.ts';
import { OrderStatus, PaymentType } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order, PaymentOption } from '../../gen/gatehouse/v1/order_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import type { Language } from '../../platform/language/language.ts';
import { orders as amharic } from '../language/amharic/orders.ts';
import { orders as english } from '../language/english/orders.ts';
import { momentOf } from '../moment-text.ts';

export const orderWords = { en: english, am: amharic };
export type OrderWords = typeof english;

/** The language and time zone of a page. */
export interface OrderWriting {
  readonly words: OrderWords;
  readonly language: Language;
  readonly timeZone: string;
}

/** The statuses by their words in a query. */
export const orderStatuses = {
  pending: OrderStatus.PENDING,
  completed: OrderStatus.COMPLETED,
  failed: OrderStatus.FAILED,
  expired: OrderStatus.EXPIRED,
} as const;
export const optionNumbers = Object.fromEntries(
  paymentOptions.map(({ name, number }) => [name, number]),
) as Record<PaymentOptionName, PaymentOption>;
export const paymentTypes = {
  api: PaymentType.API,
  direct: PaymentType.DIRECT,
  link: PaymentType.LINK,
  qr: PaymentType.QR,
} as const;

const statusTones = { pending: 'info', completed: 'good', failed: 'bad', expired: undefined } as const;

function nameOf<Name extends string>(
  table: Readonly<Record<Name, number>>,
  number: number,
): Name | undefined {
  return (Object.keys(table) as Name[]).find((name) => table[name] === number);
}

/** A status in words, and its style. */
export function statusText(status: OrderStatus, words: OrderWords) {
  const name = nameOf(orderStatuses, status) ?? 'pending';
  return { name, text: words.statuses[name], tone: statusTones[name] };
}

/** An option in words; a dash without one. */
export function optionText(option: PaymentOption, words: OrderWords): string {
  const name = optionOfNumber(option)?.name;
  return name === undefined ? words.none : words.options[name];
}

export function typeText(type: PaymentType, words: OrderWords): string {
  const name = nameOf(paymentTypes, type);
  return name === undefined ? words.none : words.types[name];
}

/** A row of the list of orders. */
export function orderRow(order: Order, { words, language, timeZone }: OrderWriting) {
  return {
    id: order.orderId,
    number: order.orderNumber,
    status: statusText(order.status, words),
    amount: amountText(order.amount, order.currency, language),
    option: optionText(order.paymentOption, words),
    type: typeText(order.paymentType, words),
    phone: order.customerPhone || words.none,
    reason: order.reason,
    created: momentOf(order.createTime, language, timeZone),
    expires: momentOf(order.expireTime, language, timeZone),
  };
}
