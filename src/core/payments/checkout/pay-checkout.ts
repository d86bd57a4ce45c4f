import { createHash } from 'node:crypto';
import { notPayable } from '../../../contract/not-payable.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Database } from '../../database/database.ts';
import { PaymentAttemptRow } from '../../database/entities.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId } from '../../../contract/public-id.ts';
import type { Changed, Environment, Order, OrderInFull, PaymentOption } from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';
import type { PhoneNumber } from '../../domain/phone-number.ts';
import { maxAttempts, transition } from '../../domain/transition.ts';
import type { Command, Rejection } from '../../domain/transition.ts';
import type { FindMerchant, MerchantTerms } from '../../merchants/find-merchant.ts';
import { requireMerchant } from '../../merchants/find-merchant.ts';
import { allowedOptions } from '../../domain/merchant-terms.ts';
import type { CheckoutTokens, TokenSubject } from './checkout-token.ts';
import type { LockedOrder, OrderChanges } from '../changes/change-order.ts';
import type { PhoneLimit } from '../phones/phone-limit.ts';

/** What a customer's page shows. */
export interface Checkout {
  readonly order: OrderInFull;
  readonly merchant: MerchantTerms;
  readonly attemptsLeft: number;
  /** Whether the browser that asks may pay: it is the bound one, or none is bound yet. */
  readonly usableHere: boolean;
  /** Whether the browser that asks is the bound one. */
  readonly boundHere: boolean;
  /** The wallet's own number of the transaction that paid; '' until COMPLETED. */
  readonly providerTransactionId: string;
  /** The options the customer may choose from. */
  readonly paymentOptions: readonly PaymentOption[];
}

export interface CheckoutPayment {
  /** Where the customer's request came from: an IPv4 address or an IPv6 network; '' when it is not known. */
  readonly customerNetwork: string;
  readonly paymentOption: PaymentOption;
  readonly phone: PhoneNumber;
}

export interface Checkouts {
  /** Changes nothing. @throws CHECKOUT_NOT_FOUND */
  readonly get: (token: string, browserSecret: string) => Promise<Checkout>;
  /** @throws CHECKOUT_NOT_FOUND, CHECKOUT_IN_USE, PAYMENT_IN_PROGRESS, MONEY_NOT_RETURNED, ORDER_NOT_PAYABLE, PHONE_BUSY, PHONE_LIMIT, MERCHANT_SUSPENDED */
  readonly pay: (
    token: string,
    browserSecret: string,
    payment: CheckoutPayment,
    requestId: string,
  ) => Promise<Checkout>;
  /** @throws CHECKOUT_NOT_FOUND, CHECKOUT_IN_USE, PAYMENT_IN_PROGRESS, ORDER_NOT_PAYABLE */
  readonly cancel: (token: string, browserSecret: string, requestId: string) => Promise<Checkout>;
}

export interface CheckoutParts {
  readonly database: Database;
  readonly changes: OrderChanges;
  readonly tokens: CheckoutTokens;
  /** As the database has it now: a suspension just made counts for the next payment. */
  readonly findMerchant: FindMerchant;
  readonly phoneLimit: PhoneLimit;
  /** A keyed hash: networks are personal data, and equal ones only have to be known as equal. */
  readonly hashNetwork: (network: string) => string;
  /** The payment options that wallets are set up for. */
  readonly offeredOptions: Readonly<Record<Environment, readonly PaymentOption[]>>;
  readonly newId: NewId;
  readonly now: () => Date;
  readonly onEvents: () => void;
  readonly onAttempts: () => void;
}

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();
const notOffered = () =>
  invalidFields([{ field: 'payment_option', issue: 'is not one of the options that this merchant offers' }]);
const notFound = () => rpcError('CHECKOUT_NOT_FOUND', 'this checkout link is not one of ours');

export function createCheckouts(parts: CheckoutParts): Checkouts {
  const { database, changes, tokens, findMerchant, phoneLimit, newId, now } = parts;

  const open = (token: string): TokenSubject => {
    const subject = tokens.open(token);
    if (subject === undefined) throw notFound();
    return subject;
  };
  const rowKey = ({ environment, merchantId, orderId }: TokenSubject) => ({
    environment,
    merchantId: storedId('mer', merchantId),
    id: storedId('ord', orderId),
  });
  const describe = async (
    order: OrderInFull,
    seen: Pick<Checkout, 'usableHere' | 'boundHere' | 'providerTransactionId'>,
  ): Promise<Checkout> => {
    const merchant = await findMerchant(order.merchantId);
    if (merchant === undefined) throw notFound();
    const { environment } = order;
    const paymentOptions = allowedOptions(merchant, environment, parts.offeredOptions[environment]);
    const attemptsLeft = Math.max(0, maxAttempts - order.attemptCount);
    return { ...seen, order, merchant, attemptsLeft, paymentOptions };
  };

  /** Lets `decide` change the order of a checkout that this browser may use. A payment, which has a network, binds it. */
  const change = async (
    token: string,
    browserSecret: string,
    requestId: string,
    network: string | null,
    decide: (order: OrderInFull) => Changed | undefined,
  ): Promise<Checkout> => {
    const subject = open(token);
    const { order, boundHere } = await database.fork().transactional(async (em) => {
      const locked = await changes.lock(em, rowKey(subject));
      if (locked === undefined) throw notFound();
      if (!isUsableBy(locked.row, browserSecret)) {
        throw rpcError('CHECKOUT_IN_USE', 'this checkout was begun in another browser');
      }
      if (network !== null && locked.row.checkoutBrowserHash == null)
        locked.row.checkoutBrowserHash = hashOf(browserSecret);
      const decided = decide(locked.order);
      if (decided !== undefined) await changes.apply(em, locked, decided, requestId, network);
      return { order: decided?.order ?? locked.order, boundHere: locked.row.checkoutBrowserHash != null };
    });
    parts.onEvents();
    if (order.latestAttempt?.status === 'REQUESTED') parts.onAttempts();
    // What this changed is not COMPLETED: no transaction has paid it.
    return describe(order, { usableHere: true, boundHere, providerTransactionId: '' });
  };

  return {
    async get(token, browserSecret) {
      const em = database.fork();
      const found = await changes.read(em, rowKey(open(token)));
      if (found === undefined) throw notFound();
      const { row, order } = found;
      const usableHere = isUsableBy(row, browserSecret);
      return describe(order, {
        usableHere,
        boundHere: usableHere && row.checkoutBrowserHash != null,
        providerTransactionId: await paidBy(em, row),
      });
    },

    async pay(token, browserSecret, { customerNetwork, paymentOption, phone }, requestId) {
      const subject = open(token);
      const { environment } = subject;
      const merchant = await requireMerchant(findMerchant, subject.merchantId, environment);
      const allowed = allowedOptions(merchant, environment, parts.offeredOptions[environment]);
      if (!allowed.includes(paymentOption)) throw notOffered();
      const network = customerNetwork === '' ? '' : parts.hashNetwork(customerNetwork);
      return phoneLimit.inTurn({ ...subject, phone: phone.e164, network }, () =>
        change(token, browserSecret, requestId, network, (current) => {
          if (isSamePayment(current, paymentOption, phone)) return undefined;
          const at = now();
          const start: Command = {
            type: 'start_payment',
            attemptId: newId('pat', at),
            origin: 'CHECKOUT',
            paymentOption,
            phone,
          };
          const started = transition(current, start, at);
          if (!started.ok) throw refusal(started.error);
          return started.value;
        }),
      );
    },

    async cancel(token, browserSecret, requestId) {
      return change(token, browserSecret, requestId, null, (current) => {
        if (current.status === 'FAILED') return undefined;
        const cancelled = transition(current, { type: 'cancel' }, now());
        if (!cancelled.ok) throw refusal(cancelled.error);
        return cancelled.value;
      });
    },
  };
}

function isUsableBy({ checkoutBrowserHash }: LockedOrder['row'], browserSecret: string): boolean {
  if (checkoutBrowserHash == null) return true;
  return browserSecret !== '' && hashOf(browserSecret).equals(checkoutBrowserHash);
}

/** The wallet's own number of the transaction that paid an order; '' while none has. */
async function paidBy(em: EntityManager, { status, merchantId, latestAttemptId: id }: LockedOrder['row']) {
  if (status !== 'COMPLETED' || id == null) return '';
  return (await em.findOneOrFail(PaymentAttemptRow, { merchantId, id })).providerTransactionId ?? '';
}

/** A double click, or a form sent again: the payment it asks for runs already. */
function isSamePayment({ latestAttempt }: Order, option: PaymentOption, { e164 }: PhoneNumber): boolean {
  if (latestAttempt === null) return false;
  const { paymentOption, phone } = latestAttempt;
  return isInFlight(latestAttempt) && paymentOption === option && phone === e164;
}

function refusal(rejection: Rejection) {
  switch (rejection.type) {
    case 'payment_in_progress':
      return rpcError('PAYMENT_IN_PROGRESS', 'a payment is under way; wait for its outcome');
    case 'money_not_returned':
      return rpcError(
        'MONEY_NOT_RETURNED',
        'an earlier payment took money that is not back with the payer; pay again once it is',
      );
    case 'order_is_final':
      return notPayable(rejection.type, `the order is ${rejection.status}`);
    case 'session_ended':
      return notPayable(rejection.type, 'the payment session has ended');
    case 'too_many_attempts':
      return notPayable(rejection.type, `the order has been tried ${rejection.limit} times`);
    case 'option_not_allowed':
      return notPayable(rejection.type, 'the order cannot be paid this way');
    case 'session_not_ended':
    case 'unknown_attempt':
    case 'attempt_is_final':
    case 'attempt_not_sent':
    case 'attempt_already_sent':
    case 'amount_mismatch':
      return new Error(`a checkout cannot be refused for ${rejection.type}`);
  }
}
