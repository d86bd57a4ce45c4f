import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { WalletDirectory } from '../../contract/wallet-directory.ts';
import { OrderStatus, PaymentType } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../gen/gatehouse/v1/order_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { durationText } from '../../platform/language/duration-text.ts';
import type { Language } from '../../platform/language/language.ts';
import { orders as amharic } from '../language/amharic/orders.ts';
import { orders as english } from '../language/english/orders.ts';
import { momentOf } from '../moment-text.ts';

export const orderWords = { en: english, am: amharic };
export type OrderWords = typeof english;

/** The names of wallets and their options, in a language. */
export interface OptionWriting {
  readonly words: Pick<OrderWords, 'channels'>;
  readonly language: Language;
  readonly wallets: WalletDirectory;
}

/** The words, language and time zone of a page. */
export interface OrderWriting extends OptionWriting {
  readonly words: OrderWords;
  readonly timeZone: string;
}

/** The statuses by their words in a query. */
export const orderStatuses = {
  pending: OrderStatus.PENDING,
  completed: OrderStatus.COMPLETED,
  failed: OrderStatus.FAILED,
  expired: OrderStatus.EXPIRED,
} as const;
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
export function optionText(option: string, { words, language, wallets }: OptionWriting): string {
  const names = wallets.option(option);
  return names === undefined ? '–' : words.channels[names.channel](names.wallet[language]);
}

/** The configured options as choices of a form, and `others`, which may no longer be configured. */
export const optionChoices = (writing: OptionWriting, others: readonly string[] = []) => {
  const configured = writing.wallets.wallets.flatMap(({ paymentOptions }) => paymentOptions);
  return [...new Set([...configured, ...others])].map((value) => ({
    value,
    text: optionText(value, writing),
  }));
};

export function typeText(type: PaymentType, words: OrderWords): string {
  const name = nameOf(paymentTypes, type);
  return name === undefined ? words.none : words.types[name];
}

/** An order expires within seconds after its time, unless its wallet has not decided about a payment. */
const usualExpirySeconds = 60;

/** How long an order that should have expired has waited for its wallet, in words; undefined for other orders. */
function undecidedText({ status, expireTime }: Order, now: Date, { words, language }: OrderWriting) {
  if (status !== OrderStatus.PENDING || expireTime === undefined) return undefined;
  const seconds = Math.floor((now.getTime() - timestampDate(expireTime).getTime()) / 1000);
  return seconds < usualExpirySeconds ? undefined : words.undecided(durationText(seconds, language));
}

/** Whether a payer's phone, in E.164 form, is that of the customer as the merchant wrote it. */
const isOfCustomer = (payer: string, { customerPhone }: Order): boolean =>
  customerPhone !== '' && payer.endsWith(customerPhone.replace(/^(?:\+?251|0|\+)/, ''));

/** A row of the list of orders. `payer` is the phone of the latest payment in E.164 form, if it is known. */
export function orderRow(order: Order, payer: string | undefined, writing: OrderWriting, now: Date) {
  const { words, language, timeZone } = writing;
  return {
    id: order.orderId,
    number: order.orderNumber,
    status: statusText(order.status, words),
    undecided: undecidedText(order, now, writing),
    amount: amountText(order.amount, order.currency, language),
    refunded: /[1-9]/.test(order.refunded)
      ? words.refunded(amountText(order.refunded, order.currency, language))
      : undefined,
    option: optionText(order.paymentOption, writing),
    type: typeText(order.paymentType, words),
    phone: order.customerPhone || words.none,
    payer: payer === undefined || isOfCustomer(payer, order) ? undefined : payer,
    reason: order.reason,
    created: momentOf(order.createTime, language, timeZone),
    expires: momentOf(order.expireTime, language, timeZone),
  };
}
