import type { Checkout } from '../gen/gatehouse/v1/checkout_service_pb.js';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { Order } from '../gen/gatehouse/v1/order_pb.js';
import type { WalletDirectory } from '../contract/wallet-directory.ts';
import type { Language } from '../platform/language/language.ts';
import type { CheckoutStage } from './checkout-stage.ts';
import type { Messages, Notice } from './language/messages.ts';
import type { ContactView, OutcomeView, ShopView } from './page-views.ts';
import { readablePhone } from './phone-text.ts';

/** How often a browser without scripts refreshes the page of a payment. */
export const refreshSeconds = 8;

/** Why the customer's request was refused, and the sent form, if there was one. */
export interface Refusal {
  readonly alert: Notice;
  readonly form?: {
    readonly paymentOption: string;
    readonly phone: string;
    readonly optionError: string | undefined;
    readonly phoneError: string | undefined;
  };
}

/** The data for the page of one checkout. */
export interface CheckoutPage {
  readonly checkout: Checkout;
  readonly order: Order;
  readonly wallets: WalletDirectory;
  /** The address of a logo's file. */
  readonly logoPath: (file: string) => string;
  readonly stage: CheckoutStage;
  readonly language: Language;
  /** The page's own address. */
  readonly self: string;
  readonly nowMs: number;
  /** The time zone of the receipt: an IANA name. */
  readonly timeZone: string;
  /** Whether the customer chose that the page must not change by itself. */
  readonly stay: boolean;
  /** Whether the paying or cancelling browser shows the outcome for the first time. */
  readonly isFirstSight: boolean;
  /** Set when the customer's request was refused. */
  readonly refused?: Refusal;
}

/** The merchant's contact; undefined when none is set. */
export function contactOf(
  { checkout }: CheckoutPage,
  shop: ShopView,
  messages: Messages,
): ContactView | undefined {
  const { phone = '', email = '' } = checkout.merchantContact ?? {};
  const ways = [
    ...(phone === '' ? [] : [{ href: `tel:${phone.replaceAll(' ', '')}`, text: readablePhone(phone) }]),
    ...(email === '' ? [] : [{ href: `mailto:${email}`, text: email }]),
  ];
  return ways.length === 0 ? undefined : { intro: messages.contact(shop.name), ways };
}

export function shopOf({ checkout, order }: CheckoutPage, messages: Messages): ShopView {
  const { merchantName } = checkout;
  const name = order.businessName === '' ? merchantName : order.businessName;
  return {
    name,
    byMerchant: name === merchantName ? undefined : messages.byMerchant(merchantName),
    initial: ([...name.trim()][0] ?? '').toUpperCase(),
  };
}

/** The merchant's return URL exactly as given. Only a web address may become a link. */
export function backToShop({ returnUrl }: Order, shop: ShopView, messages: Messages): OutcomeView['back'] {
  return /^https?:\/\//i.test(returnUrl) ? { href: returnUrl, text: messages.backTo(shop.name) } : undefined;
}

export const isTest = ({ environment }: Order): boolean => environment === Environment.SANDBOX;

/** The wallet's name within a sentence. */
export const walletName = (option: string, { wallets, language }: CheckoutPage): string =>
  wallets.option(option)?.wallet[language] ?? option;
