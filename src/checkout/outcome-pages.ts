import { timestampDate, timestampMs } from '@bufbuild/protobuf/wkt';
import type { MoneyNotReturned } from '../gen/gatehouse/v1/checkout_service_pb.js';
import type { Order } from '../gen/gatehouse/v1/order_pb.js';
import { amountText } from '../contract/amount-text.ts';
import { attemptPhone } from '../contract/attempt-phone.ts';
import { momentText } from '../platform/language/moment-text.ts';
import { stageVersion } from './checkout-stage.ts';
import { messagesIn } from './language/dictionary.ts';
import type { Messages } from './language/messages.ts';
import { backToShop, contactOf, isTest, refreshSeconds, shopOf, walletName } from './page-parts.ts';
import type { CheckoutPage } from './page-parts.ts';
import type { Fact, OutcomeView, ShopView } from './page-views.ts';
import { maskedPhone, readablePhone } from './phone-text.ts';

/**
 * How long an outcome is shown before the customer returns to the shop. WCAG 2.2 (2.2.1) requires 20 seconds, in which the
 * customer can decide to stay.
 */
const returnAfterSeconds = 20;
/** The page of an older outcome does not return to the shop by itself. */
const autoReturnWithinMs = 5 * 60_000;

/** A page without details of the payment, because its reader may not be the payer. */
export function inUsePage(page: CheckoutPage): OutcomeView {
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
export function notReturnedPage(page: CheckoutPage, money: MoneyNotReturned): OutcomeView {
  const { title, refused, returning } = messagesIn(page.language).notReturned;
  const taken = amountText(money.amount, money.currency, page.language);
  return undecidedPage(page, title, (shop) =>
    money.reversalRefused ? refused(taken, shop) : returning(taken),
  );
}

export function checkingPage(page: CheckoutPage, title: string): OutcomeView {
  const { checking } = messagesIn(page.language);
  return undecidedPage(page, title, () => checking.body);
}

/** The page while the outcome is unknown. The browser refreshes it like the page to confirm. */
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

/** The stages of an order that has ended, with the tone of their pages. */
const tones = { paid: 'good', failed: 'bad', cancelled: 'neutral', expired: 'neutral' } as const;

export function finalPage(page: CheckoutPage, stage: keyof typeof tones): OutcomeView {
  const { order, language, self, stay, isFirstSight, nowMs } = page;
  const messages = messagesIn(language);
  const shop = shopOf(page, messages);
  const isPaid = stage === 'paid';
  const amount = amountText(isPaid ? order.deducted : order.amount, order.currency, language);
  const back = backToShop(order, shop, messages);
  const isRecent =
    order.updateTime !== undefined && nowMs - timestampMs(order.updateTime) < autoReturnWithinMs;
  const { body, bodyElsewhere } = messages.paid;
  const paidText = page.checkout.boundHere ? body : bodyElsewhere;
  const returns = back !== undefined && isFirstSight && isRecent && !stay;
  return {
    template: 'outcome',
    title: messages[stage].title,
    testPayment: isTest(order),
    refresh: returns ? { seconds: returnAfterSeconds, url: back.href } : undefined,
    tone: tones[stage],
    heading: messages[stage].title,
    lead: stage === 'paid' ? paidText(amount, shop.name) : unpaidText(page, stage, shop, messages),
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
    /[1-9]/.test(order.refunded)
      ? { label: labels.refunded, text: amountText(order.refunded, order.currency, language) }
      : undefined,
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
