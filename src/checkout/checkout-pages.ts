import type { Paybill } from '../gen/gatehouse/v1/checkout_service_pb.js';
import type { PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';
import { amountText } from '../contract/amount-text.ts';
import { isPaymentOption, walletOf } from '../contract/payment-option.ts';
import { durationText } from '../platform/language/duration-text.ts';
import { isCancellable, secondsLeft, stageVersion } from './checkout-stage.ts';
import type { CheckoutStage } from './checkout-stage.ts';
import { messagesIn } from './language/dictionary.ts';
import type { Messages } from './language/messages.ts';
import { checkingPage, finalPage, inUsePage, notReturnedPage } from './outcome-pages.ts';
import { backToShop, contactOf, isTest, refreshSeconds, shopOf, walletName } from './page-parts.ts';
import type { CheckoutPage } from './page-parts.ts';
import type { ConfirmView, PageView, PayView } from './page-views.ts';
import { foreignStart, internationalPhone, readablePhone } from './phone-text.ts';
import { refusalCauseOf } from './refusal-cause.ts';

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
  // Without a form nothing can be corrected, and the page says what to do instead.
  const isFormGone =
    checkout.paymentOptions.length === 0 && (sent?.optionError ?? sent?.phoneError) !== undefined;
  const formAlert = isFormGone ? undefined : page.refused?.alert;
  const alert = refused && { title: messages.refused.title, body: refusalText(refused, messages) };
  return {
    template: 'pay',
    title: messages.pay.title(amount, shop.name),
    hasMistake: page.refused !== undefined,
    testPayment: isTest(order),
    self,
    qrCode: `${self}/qr.svg`,
    shop,
    amount,
    reason: order.reason,
    orderNumber: order.orderNumber,
    secondsLeft: left,
    timeLeft: durationText(left > 60 ? Math.ceil(left / 60) * 60 : left, language),
    alert: formAlert ?? alert,
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
    phoneHint: phoneHint(page, messages),
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
  const opensPage = opens !== undefined || page.checkout.opensPage;
  const title = opens?.title ?? (opensPage ? confirm.open.title(wallet) : confirm.title);
  const shop = shopOf(page, messages);
  return {
    template: 'confirm',
    title,
    hasMistake: refused !== undefined,
    testPayment: isTest(order),
    refresh: stay ? undefined : { seconds: refreshSeconds, url: self },
    self,
    version: stageVersion(stage),
    shop,
    heading: title,
    alert: refused?.alert,
    opens,
    steps: unsent
      ? [confirm.unsent(wallet)]
      : opens !== undefined
        ? [opens.how(amount)]
        : opensPage
          ? [confirm.open.soon(wallet)]
          : [confirm.waitOn(phone), confirm.how[channel](amount, wallet), ...(slow ? [] : [confirm.next])],
    slow: slow ? confirm.slow(wallet) : undefined,
    facts: [
      { label: labels.amount, text: amount },
      { label: labels.reference, text: order.orderNumber },
    ],
    isCancellable: isCancellable(stage),
    cannotCancel: slow ? wayOut.slow(wallet) : opensPage ? wayOut.opened(wallet) : wayOut.sent(phone),
    contact: contactOf(page, shop, messages),
    back: backToShop(order, shop, messages),
  };
}

const refusalText = (attempt: PaymentAttempt, messages: Messages): string =>
  messages.refused.why[refusalCauseOf(attempt)];

type StageNamed<Name extends CheckoutStage['name']> = Extract<CheckoutStage, { readonly name: Name }>;

/** With its country code, if every offered wallet needs one. */
function phoneHint({ checkout, wallets }: CheckoutPage, { pay }: Messages): string {
  const [start, ...others] = checkout.paymentOptions.map((option) => foreignStart(option, wallets.wallets));
  return start === undefined || others.includes(undefined) ? pay.phoneHint : pay.foreignPhoneHint(start);
}

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

/** The page, app or text that the payer needs to confirm; undefined when the wallet prompts the payer's phone. */
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
