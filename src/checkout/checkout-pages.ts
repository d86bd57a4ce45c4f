import type { Checkout } from '../gen/gatehouse/v1/checkout_service_pb.js';
import { Environment, PaymentOption } from '../gen/gatehouse/v1/order_pb.js';
import type { Order, PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';
import { paymentOptionName } from '../merchant-api/payment-option.ts';
import { secondsLeft, stageVersion } from './checkout-stage.ts';
import type { CheckoutStage } from './checkout-stage.ts';
import { amountText } from '../runtime/language/amount-text.ts';
import { messagesIn } from './language/dictionary.ts';
import { durationText } from '../runtime/language/duration-text.ts';
import type { Language } from '../runtime/language/language.ts';
import type { ChosenOption, Messages } from './language/messages.ts';
import type { ConfirmView, OutcomeView, PageView, PayView, ShopView } from './page-views.ts';
import { readablePhone } from './phone-text.ts';
import { refusalCauseOf } from './refusal-cause.ts';

/** How long an outcome is shown before the customer is taken back to the shop. */
const returnAfterSeconds = 10;
/** How often a browser without scripts looks at a payment. */
const refreshSeconds = 8;

/** What the customer sent and what is to be put right about it. */
export interface SentForm {
  readonly paymentOption: PaymentOption;
  readonly phone: string;
  readonly alert: { readonly title: string; readonly body: string };
  readonly optionError: string | undefined;
  readonly phoneError: string | undefined;
}

/** One checkout on its way to a page. */
export interface CheckoutPage {
  readonly checkout: Checkout;
  readonly order: Order;
  readonly stage: CheckoutStage;
  readonly language: Language;
  /** The page's own address. */
  readonly self: string;
  readonly nowMs: number;
  /** Whether the customer asked that the page changes by itself no more. */
  readonly stay: boolean;
  /** When a form was sent and nothing could be started. */
  readonly sent?: SentForm;
}

/** The page for a checkout at its stage. */
export function checkoutPage(page: CheckoutPage): PageView {
  const { stage } = page;
  switch (stage.name) {
    case 'pay':
      return payPage(page, stage.refused);
    case 'confirm':
      return confirmPage(page, stage.attempt, stage.slow);
    case 'in_use':
      return inUsePage(page);
    case 'paid':
    case 'failed':
    case 'cancelled':
    case 'expired':
      return finalPage(page, stage.name);
  }
}

function payPage(page: CheckoutPage, refused: PaymentAttempt | undefined): PayView {
  const { checkout, order, language, self, nowMs, sent } = page;
  const messages = messagesIn(language);
  const amount = amountText(order.amount, order.currency, language);
  const left = secondsLeft(order, nowMs);
  const shop = shopOf(page, messages);
  const chosen = sent?.paymentOption ?? refused?.paymentOption ?? PaymentOption.UNSPECIFIED;
  const offered = checkout.paymentOptions.filter(isChosen);
  const alert = refused && { title: messages.refused.title, body: refusalText(refused, messages) };
  return {
    template: 'pay',
    title: messages.pay.title(amount, shop.name),
    testPayment: isTest(order),
    self,
    qrCode: `${self}/qr.svg`,
    shop,
    amount,
    reason: order.reason,
    orderNumber: order.orderNumber,
    secondsLeft: left,
    timeLeft: durationText(left, language),
    alert: sent?.alert ?? alert,
    attemptsLeft:
      refused !== undefined && sent === undefined ? messages.pay.attemptsLeft(checkout.attemptsLeft) : '',
    options: offered.map((option) => ({
      value: paymentOptionName(option),
      ...messages.options[option],
      checked: option === chosen || offered.length === 1,
    })),
    optionError: sent?.optionError,
    phone: sent?.phone ?? (refused === undefined ? order.customerPhone : readablePhone(refused.phone)),
    phoneError: sent?.phoneError,
    submit: messages.pay.submit(amount),
  };
}

function confirmPage(page: CheckoutPage, attempt: PaymentAttempt, slow: boolean): ConfirmView {
  const { order, language, self, stage, stay } = page;
  const messages = messagesIn(language);
  const { confirm } = messages;
  const option = isChosen(attempt.paymentOption) ? attempt.paymentOption : PaymentOption.WALLETA_USSD;
  return {
    template: 'confirm',
    title: confirm.title,
    testPayment: isTest(order),
    refresh: stay ? undefined : { seconds: refreshSeconds },
    self,
    version: stageVersion(stage),
    shop: shopOf(page, messages),
    heading: confirm.title,
    sentTo: confirm.sentTo(readablePhone(attempt.phone)),
    how: confirm.how[option](amountText(order.amount, order.currency, language)),
    slow: slow ? confirm.slow(messages.wallets[option]) : undefined,
  };
}

/** Says nothing about the payment: whoever looks may have no part in it. */
function inUsePage(page: CheckoutPage): OutcomeView {
  const { order, language, self, stage } = page;
  const messages = messagesIn(language);
  const shop = shopOf(page, messages);
  return {
    template: 'outcome',
    title: messages.inUse.title,
    testPayment: isTest(order),
    tone: 'neutral',
    heading: messages.inUse.title,
    lead: messages.inUse.body,
    facts: [],
    self,
    shop,
    version: stageVersion(stage),
    again: { href: self, text: messages.confirm.lookAgain },
    back: backToShop(order, shop, messages),
    final: false,
  };
}

const tones = { paid: 'good', failed: 'bad', cancelled: 'neutral', expired: 'neutral' } as const;

function finalPage(page: CheckoutPage, stage: keyof typeof tones): OutcomeView {
  const { order, language, self, stay } = page;
  const messages = messagesIn(language);
  const shop = shopOf(page, messages);
  const paid = amountText(stage === 'paid' ? order.deducted : order.amount, order.currency, language);
  const back = backToShop(order, shop, messages);
  const lead = stage === 'paid' ? messages.paid.body(paid, shop.name) : messages[stage].body;
  const returns = back !== undefined && !stay;
  return {
    template: 'outcome',
    title: messages[stage].title,
    testPayment: isTest(order),
    refresh: returns ? { seconds: returnAfterSeconds, url: back.href } : undefined,
    tone: tones[stage],
    heading: messages[stage].title,
    lead,
    facts: factsOf(order, paid, stage === 'paid', messages),
    self,
    shop,
    back,
    returnSeconds: returns ? returnAfterSeconds : undefined,
    final: true,
  };
}

function factsOf(order: Order, amount: string, paid: boolean, { labels, wallets }: Messages) {
  const facts = [
    { label: labels.amount, text: amount },
    { label: labels.reference, text: order.orderNumber },
  ];
  if (order.reason !== '') facts.splice(1, 0, { label: labels.reason, text: order.reason });
  if (paid && isChosen(order.paymentOption))
    facts.push({ label: labels.wallet, text: wallets[order.paymentOption] });
  return facts;
}

function shopOf({ checkout, order }: CheckoutPage, messages: Messages): ShopView {
  const { merchantName } = checkout;
  const name = order.businessName === '' ? merchantName : order.businessName;
  return {
    name,
    byMerchant: name === merchantName ? undefined : messages.byMerchant(merchantName),
    initial: ([...name.trim()][0] ?? '').toUpperCase(),
  };
}

/** The way back exactly as the merchant gave it. Only a web address is one: nothing else may become a link. */
function backToShop({ returnUrl }: Order, shop: ShopView, messages: Messages): OutcomeView['back'] {
  return /^https?:\/\//i.test(returnUrl) ? { href: returnUrl, text: messages.backTo(shop.name) } : undefined;
}

const refusalText = (attempt: PaymentAttempt, messages: Messages): string =>
  messages.refused.why[refusalCauseOf(attempt)];

const isTest = ({ environment }: Order): boolean => environment === Environment.SANDBOX;

const isChosen = (option: PaymentOption): option is ChosenOption => option !== PaymentOption.UNSPECIFIED;
