import { timestampDate, timestampMs } from '@bufbuild/protobuf/wkt';
import type { Checkout, MoneyNotReturned, Paybill } from '../gen/gatehouse/v1/checkout_service_pb.js';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { Order, PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';
import type { WalletDirectory } from '../contract/wallet-directory.ts';
import { isPaymentOption, walletOf } from '../contract/payment-option.ts';
import { isCancellable, secondsLeft, stageVersion } from './checkout-stage.ts';
import type { CheckoutStage } from './checkout-stage.ts';
import { amountText } from '../contract/amount-text.ts';
import { attemptPhone } from '../contract/attempt-phone.ts';
import { messagesIn } from './language/dictionary.ts';
import { durationText } from '../platform/language/duration-text.ts';
import type { Language } from '../platform/language/language.ts';
import { momentText } from '../platform/language/moment-text.ts';
import type { Messages, Notice } from './language/messages.ts';
import type {
  ConfirmView,
  ContactView,
  Fact,
  OutcomeView,
  PageView,
  PayView,
  ShopView,
} from './page-views.ts';
import { internationalPhone, maskedPhone, readablePhone } from './phone-text.ts';
import { refusalCauseOf } from './refusal-cause.ts';

/**
 * How long an outcome is shown before the customer returns to the shop. WCAG 2.2 (2.2.1) requires 20 seconds, in which the
 * customer can decide to stay.
 */
const returnAfterSeconds = 20;
/** The page of an older outcome does not return to the shop by itself. */
const autoReturnWithinMs = 5 * 60_000;
/** How often a browser without scripts refreshes the page of a payment. */
const refreshSeconds = 8;

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

/** The page for a checkout at its stage. */
export function checkoutPage(page: CheckoutPage): PageView {
  const { stage } = page;
  switch (stage.name) {
    case 'pay':
      return payPage(page, stage.refused);
    case 'confirm':
      return confirmPage(page, stage);
    case 'in_use':
      return inUsePage(page);
    case 'not_returned':
      return notReturnedPage(page, stage.money);
    case 'expiring':
      return checkingPage(page, messagesIn(page.language).expired.title);
    case 'checking':
      return checkingPage(page, messagesIn(page.language).checking.title);
    case 'paid':
    case 'failed':
    case 'cancelled':
    case 'expired':
      return finalPage(page, stage.name);
  }
}

function payPage(page: CheckoutPage, refused: PaymentAttempt | undefined): PayView {
  const { checkout, order, language, self, nowMs } = page;
  const sent = page.refused?.form;
  const messages = messagesIn(language);
  const amount = amountText(order.amount, order.currency, language);
  const left = secondsLeft(order, nowMs);
  const shop = shopOf(page, messages);
  const phone = sent?.phone ?? refused?.phone ?? order.customerPhone;
  const chosen = sent?.paymentOption ?? refused?.paymentOption ?? optionFor(phone, page);
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
    timeLeft: durationText(left > 60 ? Math.ceil(left / 60) * 60 : left, language),
    alert: page.refused?.alert ?? alert,
    attemptsLeft:
      refused !== undefined && page.refused === undefined
        ? messages.pay.attemptsLeft(checkout.attemptsLeft)
        : '',
    options: checkout.paymentOptions.map((option) => ({
      ...optionView(option, page, messages),
      checked: option === chosen || checkout.paymentOptions.length === 1,
    })),
    noOption: messages.pay.noOption,
    optionError: sent?.optionError,
    phone: readablePhone(phone),
    phoneError: sent?.phoneError,
    submit: messages.pay.submit(amount),
    paybills: checkout.paybills.map((paybill) => paybillView(paybill, page, messages, amount)),
    contact: contactOf(page, shop, messages),
  };
}

function paybillView(
  { wallet, number }: Paybill,
  { order, wallets, language, self }: CheckoutPage,
  { paybill, labels, checkAgain }: Messages,
  amount: string,
) {
  const name = wallets.walletNames(wallet)[language];
  return {
    open: paybill.open(name),
    body: paybill.body(name),
    facts: [
      { label: paybill.number, text: number },
      { label: paybill.account, text: order.orderNumber },
      { label: labels.amount, text: amount },
    ],
    after: paybill.after,
    again: { href: self, text: checkAgain },
  };
}

function confirmPage(page: CheckoutPage, stage: StageNamed<'confirm'>): ConfirmView {
  const { order, language, self, stay, refused } = page;
  const { attempt, slow, unsent } = stage;
  const messages = messagesIn(language);
  const { confirm, labels } = messages;
  const { wayOut } = confirm;
  const amount = amountText(order.amount, order.currency, language);
  const phone = readablePhone(attempt.phone);
  const wallet = walletName(attempt.paymentOption, page);
  const channel = page.wallets.option(attempt.paymentOption)?.channel ?? 'ussd';
  const opens = openView(page, attempt, wallet, messages);
  const shop = shopOf(page, messages);
  return {
    template: 'confirm',
    title: opens?.title ?? confirm.title,
    testPayment: isTest(order),
    refresh: stay ? undefined : { seconds: refreshSeconds, url: self },
    self,
    version: stageVersion(stage),
    shop,
    heading: opens?.title ?? confirm.title,
    alert: refused?.alert,
    opens,
    steps: unsent
      ? [confirm.unsent(wallet)]
      : opens === undefined
        ? [confirm.waitOn(phone), confirm.how[channel](amount, wallet), ...(slow ? [] : [confirm.next])]
        : [opens.how(amount)],
    slow: slow ? confirm.slow(wallet) : undefined,
    facts: [
      { label: labels.amount, text: amount },
      { label: labels.reference, text: order.orderNumber },
    ],
    isCancellable: isCancellable(stage),
    cannotCancel: slow
      ? wayOut.slow(wallet)
      : opens === undefined
        ? wayOut.sent(phone)
        : wayOut.opened(wallet),
    contact: contactOf(page, shop, messages),
    back: backToShop(order, shop, messages),
  };
}

/** A page without details of the payment, because its reader may not be the payer. */
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
    again: { href: self, text: messages.checkAgain },
    back: backToShop(order, shop, messages),
    final: false,
  };
}

/** The customer may pay as soon as the money is returned. */
function notReturnedPage(page: CheckoutPage, money: MoneyNotReturned): OutcomeView {
  const { title, refused, returning } = messagesIn(page.language).notReturned;
  const taken = amountText(money.amount, money.currency, page.language);
  return undecidedPage(page, title, (shop) =>
    money.reversalRefused ? refused(taken, shop) : returning(taken),
  );
}

function checkingPage(page: CheckoutPage, title: string): OutcomeView {
  const { checking } = messagesIn(page.language);
  return undecidedPage(page, title, () => checking.body);
}

/** Refreshed like the page to confirm. */
function undecidedPage(page: CheckoutPage, title: string, lead: (shop: string) => string): OutcomeView {
  const { order, language, self, stage } = page;
  const messages = messagesIn(language);
  const shop = shopOf(page, messages);
  return {
    template: 'outcome',
    title,
    testPayment: isTest(order),
    refresh: { seconds: refreshSeconds, url: self },
    tone: 'neutral',
    heading: title,
    lead: lead(shop.name),
    facts: factsOf(order, amountText(order.amount, order.currency, language), messages),
    self,
    shop,
    contact: contactOf(page, shop, messages),
    version: stageVersion(stage),
    again: { href: self, text: messages.checkAgain },
    back: backToShop(order, shop, messages),
    final: false,
  };
}

const tones = { paid: 'good', failed: 'bad', cancelled: 'neutral', expired: 'neutral' } as const;

function finalPage(page: CheckoutPage, stage: keyof typeof tones): OutcomeView {
  const { order, language, self, stay, isFirstSight, nowMs } = page;
  const messages = messagesIn(language);
  const shop = shopOf(page, messages);
  const isPaid = stage === 'paid';
  const amount = amountText(isPaid ? order.deducted : order.amount, order.currency, language);
  const back = backToShop(order, shop, messages);
  const isNews = order.updateTime !== undefined && nowMs - timestampMs(order.updateTime) < autoReturnWithinMs;
  const returns = back !== undefined && isFirstSight && isNews && !stay;
  return {
    template: 'outcome',
    title: messages[stage].title,
    testPayment: isTest(order),
    refresh: returns ? { seconds: returnAfterSeconds, url: back.href } : undefined,
    tone: tones[stage],
    heading: messages[stage].title,
    lead: stage === 'paid' ? messages.paid.body(amount, shop.name) : unpaidText(page, stage, shop, messages),
    facts: isPaid ? receiptOf(page, amount, shop, messages) : factsOf(order, amount, messages),
    self,
    shop,
    isReceipt: isPaid,
    contact: contactOf(page, shop, messages),
    back,
    returnSeconds: returns ? returnAfterSeconds : undefined,
    final: true,
  };
}

/** The text of an unpaid order. It does not claim that nothing was paid while a wallet holds the payer's money. */
function unpaidText(
  { checkout: { moneyNotReturned: money }, language }: CheckoutPage,
  stage: 'failed' | 'cancelled' | 'expired',
  shop: ShopView,
  messages: Messages,
): string {
  if (money === undefined) return messages[stage].body;
  const taken = amountText(money.amount, money.currency, language);
  const { ended } = messages.notReturned;
  return money.reversalRefused ? ended.refused(taken, shop.name) : ended.returning(taken);
}

function factsOf({ orderNumber, reason }: Order, amount: string, { labels }: Messages): Fact[] {
  return [
    { label: labels.amount, text: amount },
    ...(reason === '' ? [] : [{ label: labels.reason, text: reason }]),
    { label: labels.reference, text: orderNumber },
  ];
}

/** The data by which a customer, a shop or a wallet can find the payment. Another browser does not get the phone number. */
function receiptOf(page: CheckoutPage, amount: string, shop: ShopView, messages: Messages): Fact[] {
  const { checkout, order, language, timeZone } = page;
  const { labels } = messages;
  const { latestAttempt: attempt, merchantName, providerTransactionId, boundHere } = checkout;
  const payee = shop.name === merchantName ? merchantName : `${shop.name} (${merchantName})`;
  const option = order.paymentOption;
  const phone = attempt && attemptPhone(attempt);
  const facts: (Fact | undefined)[] = [
    ...factsOf(order, amount, messages),
    { label: labels.payee, text: payee },
    order.updateTime && {
      label: labels.paidAt,
      text: momentText(timestampDate(order.updateTime), language, timeZone),
    },
    option === '' ? undefined : { label: labels.wallet, text: walletName(option, page) },
    providerTransactionId === '' ? undefined : { label: labels.walletReference, text: providerTransactionId },
    phone === undefined
      ? undefined
      : { label: labels.phone, text: boundHere ? readablePhone(phone) : maskedPhone(phone) },
  ];
  return facts.filter((fact) => fact !== undefined);
}

/** The merchant's contact; undefined when none is set. */
function contactOf({ checkout }: CheckoutPage, shop: ShopView, messages: Messages): ContactView | undefined {
  const { phone = '', email = '' } = checkout.merchantContact ?? {};
  const ways = [
    ...(phone === '' ? [] : [{ href: `tel:${phone.replaceAll(' ', '')}`, text: readablePhone(phone) }]),
    ...(email === '' ? [] : [{ href: `mailto:${email}`, text: email }]),
  ];
  return ways.length === 0 ? undefined : { intro: messages.contact(shop.name), ways };
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

/** The merchant's return URL exactly as given. Only a web address may become a link. */
function backToShop({ returnUrl }: Order, shop: ShopView, messages: Messages): OutcomeView['back'] {
  return /^https?:\/\//i.test(returnUrl) ? { href: returnUrl, text: messages.backTo(shop.name) } : undefined;
}

const refusalText = (attempt: PaymentAttempt, messages: Messages): string =>
  messages.refused.why[refusalCauseOf(attempt)];

type StageNamed<Name extends CheckoutStage['name']> = Extract<CheckoutStage, { readonly name: Name }>;

const isTest = ({ environment }: Order): boolean => environment === Environment.SANDBOX;

/** The wallet's name within a sentence. */
const walletName = (option: string, { wallets, language }: CheckoutPage): string =>
  wallets.option(option)?.wallet[language] ?? option;

/** The offered option whose wallet the phone belongs to, if the wallets' prefixes tell; '' otherwise. */
function optionFor(phone: string, { checkout, wallets }: CheckoutPage): string {
  const e164 = internationalPhone(phone);
  const fitting = wallets.wallets.filter(({ phonePrefixes }) =>
    phonePrefixes.some((prefix) => e164.startsWith(prefix)),
  );
  const [wallet] = fitting;
  if (wallet === undefined || fitting.length > 1) return '';
  return wallet.paymentOptions.find((option) => checkout.paymentOptions.includes(option)) ?? '';
}

function optionView(option: string, { wallets, language, logoPath }: CheckoutPage, messages: Messages) {
  const names = wallets.option(option);
  const wallet = names?.wallet[language] ?? option;
  const words = messages.options[names?.channel ?? 'ussd'];
  const logo = isPaymentOption(option) ? wallets.logoFile(walletOf(option)) : undefined;
  return {
    value: option,
    name: names?.hasSibling === true ? words.name(wallet) : wallet,
    hint: words.hint(wallet),
    logo: logo === undefined ? undefined : logoPath(logo),
  };
}

/** What the payer must open or read; undefined when the wallet prompts the payer's phone. */
function openView(
  { checkout, self }: CheckoutPage,
  { paymentAttemptId: attemptId }: PaymentAttempt,
  wallet: string,
  { confirm }: Messages,
) {
  const { case: kind, value } = checkout.nextAction?.action ?? {};
  if (kind === undefined || value === undefined) return undefined;
  const title = confirm.open.title(wallet);
  switch (kind) {
    case 'redirectUrl':
      return {
        title,
        how: (amount: string) => confirm.open.how(amount, wallet),
        link: { href: value, text: confirm.open.button(wallet), attemptId },
      };
    case 'qrPayload':
      return {
        title,
        how: () => confirm.open.scan(wallet),
        code: { src: `${self}/action.svg`, alt: confirm.open.codeAlt(wallet) },
      };
    case 'instructions':
      return { title, how: () => value };
  }
}
