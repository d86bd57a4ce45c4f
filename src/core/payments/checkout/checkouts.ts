import { createFairCalls } from '../../../platform/fair-calls.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { allowedOptions } from '../../domain/merchant-terms.ts';
import { isInFlight } from '../../domain/order.ts';
import type { PaymentOption } from '../../domain/order.ts';
import type { PhoneNumber } from '../../domain/phone-number.ts';
import { ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import type { MerchantTerms } from '../../merchants/find-merchant.ts';
import { requireMerchant } from '../../merchants/find-merchant.ts';
import type { CallScope } from '../changes/add-orders.ts';
import type { AttemptIds } from '../changes/attempt-ids.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { claimBeforeEnd } from '../changes/lost-payment.ts';
import type { PhoneLimit } from '../phones/phone-limit.ts';
import { createCancelCheckout } from './cancel-checkout.ts';
import type { ChangedCheckout } from './cancel-checkout.ts';
import { checkoutOf, checkoutStateOf } from './checkout-contents.ts';
import type { Checkout, CheckoutContentsParts, SeenCheckout } from './checkout-contents.ts';
import { isUsableBy, nameOf, ownerOf, rowKeyOf } from './checkout-order.ts';
import { checkoutRefusal, notFound, notOffered } from './checkout-refusals.ts';
import type { CheckoutTokens, TokenSubject } from './checkout-token.ts';
import { createReadCheckoutOrder, maxCheckoutsRead } from './read-checkout-order.ts';
import type { CheckoutOrder } from './read-checkout-order.ts';
import { createStartCheckoutPayment } from './start-checkout-payment.ts';

export interface CheckoutPayment {
  /** The network of the customer's request: an IPv4 address or an IPv6 network; '' when unknown. */
  readonly customerNetwork: string;
  readonly paymentOption: PaymentOption;
  readonly phone: PhoneNumber;
}

/** The checkouts of orders, by the token of their link. */
export interface Checkouts {
  /**
   * Changes nothing. `statusOnly`: without the offer, for pages that poll. @throws CHECKOUT_NOT_FOUND, RECOVERING while a restore may have lost
   * the order, OVERLOADED when too many readings of this checkout wait
   */
  readonly get: (
    token: string,
    browserSecret: string,
    options: { readonly statusOnly: boolean; readonly signal: AbortSignal },
  ) => Promise<Checkout>;
  /**
   * @throws CHECKOUT_NOT_FOUND, CHECKOUT_IN_USE, INVALID_FIELDS for an option that is not offered, PAYMENT_IN_PROGRESS,
   * MONEY_NOT_RETURNED, ORDER_NOT_PAYABLE, PHONE_BUSY, PHONE_LIMIT, MERCHANT_SUSPENDED, RECOVERING, OVERLOADED when too many calls of
   * this checkout wait
   */
  readonly pay: (
    token: string,
    browserSecret: string,
    payment: CheckoutPayment,
    scope: CallScope,
  ) => Promise<Checkout>;
  /**
   * @throws CHECKOUT_NOT_FOUND, CHECKOUT_IN_USE, PAYMENT_IN_PROGRESS, ORDER_NOT_PAYABLE, RECOVERING while a restore may have lost the order
   * or its payment, OVERLOADED when too many cancellations of this checkout wait
   */
  readonly cancel: (token: string, browserSecret: string, requestId: string) => Promise<Checkout>;
}

export interface CheckoutParts extends CheckoutContentsParts {
  readonly changes: Pick<OrderChanges, 'share'>;
  readonly attemptIds: AttemptIds;
  readonly claims: Pick<ClaimPayments, 'claimFor' | 'find'>;
  readonly tokens: CheckoutTokens;
  readonly phoneLimit: PhoneLimit;
  /** Limits what a page needs besides its order, and the payments and cancellations that wait for their order, by merchant and then by checkout. */
  readonly fairly: FairCalls;
  readonly gate: Pick<PaymentGate, 'isOpenFor' | 'requireOpen' | 'missing'>;
  /** A keyed hash. Networks are personal data, and only their equality matters. */
  readonly hashNetwork: (network: string) => string;
}

export function createCheckouts(parts: CheckoutParts): Checkouts {
  const { database, tokens, fairly } = parts;
  const readFairly = createFairCalls({ maxRunning: 2 * maxCheckoutsRead, maxWaiting: 50 });

  const subjectOf = (token: string): TokenSubject => {
    const subject = tokens.open(token);
    if (subject === undefined) throw notFound();
    return subject;
  };
  const read = createReadCheckoutOrder(database);
  const start = createStartCheckoutPayment(parts);
  const cancel = createCancelCheckout(parts);

  return {
    async get(token, browserSecret, { statusOnly, signal }) {
      const subject = subjectOf(token);
      const owner = ownerOf(subject);
      // Anyone who has the link may read it without a limit on requests.
      const found = await readFairly(owner, signal, () => read(rowKeyOf(subject), signal));
      if (found === null) throw await parts.gate.missing(subject, notFound());
      const seen = seenBy(browserSecret, found);
      if (!statusOnly) return fairly(owner, signal, () => checkoutOf(parts, seen));
      const complete = () => checkoutStateOf(parts, seen);
      // The status of a PENDING order needs no further statement.
      const state = seen.order.status === 'PENDING' ? complete() : fairly(owner, signal, complete);
      return { ...(await state), offer: undefined };
    },

    async pay(token, browserSecret, payment, { requestId, signal }) {
      const subject = subjectOf(token);
      parts.gate.requireOpen(subject.environment, subject.merchantId);
      const { customerNetwork, paymentOption, phone } = payment;
      const network = customerNetwork === '' ? '' : parts.hashNetwork(customerNetwork);
      const merchant = await fairly(ownerOf(subject), signal, async () => {
        const terms = await requireAllowed(parts, subject, paymentOption);
        // An order may have been paid before the database was restored. Then it gets that payment, and no other starts.
        await parts.claims.claimFor(nameOf(subject), requestId);
        return terms;
      });
      const asked = { ...subject, phone: phone.e164, network };
      const started = await start({
        subject,
        browserSecret,
        paymentOption,
        phone,
        asked,
        requestId,
        signal,
      });
      const changed = started.ok ? ok({ order: started.value, boundHere: true }) : started;
      return answerChange(parts, subject, changed, merchant);
    },

    async cancel(token, browserSecret, requestId) {
      const subject = subjectOf(token);
      await claimBeforeEnd(parts, nameOf(subject), requestId);
      return answerChange(parts, subject, await cancel({ subject, browserSecret, requestId }));
    },
  };
}

async function answerChange(
  parts: CheckoutParts,
  subject: TokenSubject,
  changed: Result<ChangedCheckout, Parameters<typeof checkoutRefusal>[0]>,
  merchant?: MerchantTerms,
): Promise<Checkout> {
  if (!changed.ok) {
    const error = checkoutRefusal(changed.error, parts.phoneLimit.refusal);
    throw changed.error === 'not_found' ? await parts.gate.missing(subject, error) : error;
  }
  const { order, boundHere } = changed.value;
  // Neither change results in COMPLETED, so no transaction has paid the order. A payment that has just started was not sent yet.
  const seen = { order, usableHere: true, boundHere, nextAction: undefined, providerTransactionId: '' };
  return checkoutOf(parts, seen, merchant);
}

/** An order, as one browser may see it. */
function seenBy(browserSecret: string, { row, order, attempt }: CheckoutOrder): SeenCheckout {
  const usableHere = isUsableBy(row, browserSecret);
  const boundHere = usableHere && row.checkoutBrowserHash != null;
  // Only the payer's own browser may carry it out.
  const mayAct = boundHere && attempt !== undefined && isInFlight(attempt);
  return {
    order,
    usableHere,
    boundHere,
    nextAction: mayAct ? (attempt.nextAction ?? undefined) : undefined,
    providerTransactionId: order.status === 'COMPLETED' ? (attempt?.providerTransactionId ?? '') : '',
  };
}

/** The merchant's terms. @throws MERCHANT_SUSPENDED, INVALID_FIELDS for an option that the merchant does not offer */
async function requireAllowed(
  { findMerchant, wallets }: CheckoutParts,
  { merchantId, environment }: TokenSubject,
  option: PaymentOption,
): Promise<MerchantTerms> {
  const merchant = await requireMerchant(findMerchant, merchantId, environment);
  if (!allowedOptions(merchant, environment, wallets).includes(option)) throw notOffered();
  return merchant;
}
