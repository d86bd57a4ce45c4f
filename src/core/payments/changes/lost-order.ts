import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { isPublicId, storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { RefundStatus } from '../../../gen/gatehouse/v1/order_pb.js';
import type {
  Order as OrderMessage,
  OrderEvent as OrderEventMessage,
  PaymentAttempt as AttemptMessage,
  Refund as RefundMessage,
} from '../../../gen/gatehouse/v1/order_pb.js';
import { newAttemptSchedule } from '../../database/order-rows.ts';
import type { OrderRow, PaymentAttemptRow, RefundRow } from '../../database/order-entities.ts';
import { Currency } from '../../domain/currency.ts';
import { Money } from '../../domain/money.ts';
import { isInFlight } from '../../domain/order.ts';
import type { AttemptOrigin, DeclineReason } from '../../domain/order.ts';
import { PhoneNumber } from '../../domain/phone-number.ts';
import { parseEnvironment } from '../../rpc/environment.ts';
import { attemptStatusOf, paymentOptionOf, paymentTypeOf, statusOf } from '../../rpc/order-messages.ts';

/* The rows that events of a lost time describe. An event has the order, the attempt and the refund as it left them. */

const missingError = (what: string): Error =>
  new TypeError(`an event has no ${what} that this version knows`);

/** @throws TypeError for a value that this version does not know */
const requireKnown = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw missingError(what);
  return value;
};

const timeOf = (time: Timestamp | undefined, what: string): Date => timestampDate(requireKnown(time, what));

/** The stored id of an order, a merchant or an attempt. @throws TypeError for any other text */
export function idIn<P extends 'ord' | 'mer' | 'pat' | 'evt' | 'rfd' | 'stl' | 'wac'>(
  prefix: P,
  text: string,
): StoredId<P> {
  if (!isPublicId(prefix, text)) throw missingError(`id ${prefix}_…`);
  return storedId(prefix, text);
}

/** The columns of an order, without those that count its attempts. */
export function orderColumns(message: OrderMessage) {
  const currency = Currency.of(message.currency);
  const minorUnits = (text: string): bigint => {
    const money = Money.parse(text, 'amount', currency);
    if (!money.ok) throw missingError('amount');
    return money.value.minorUnits;
  };
  const environment = parseEnvironment(message.environment);
  if (!environment.ok) throw missingError('environment');
  const phone = PhoneNumber.parse(message.customerPhone, 'customer_phone');
  const status = requireKnown(statusOf(message.status), 'status');
  const expiresAt = timeOf(message.expireTime, 'expire_time');
  const refunded = /[1-9]/.test(message.refunded) ? minorUnits(message.refunded) : null;
  return {
    merchantId: idIn('mer', message.merchantId),
    environment: environment.value,
    id: idIn('ord', message.orderId),
    orderNumber: message.orderNumber,
    status,
    paymentType: requireKnown(paymentTypeOf(message.paymentType), 'payment_type'),
    amountText: message.amount,
    amountMinorUnits: minorUnits(message.amount),
    deductedMinorUnits: /[1-9]/.test(message.deducted) ? minorUnits(message.deducted) : 0n,
    refundedMinorUnits: refunded,
    currency: message.currency,
    customerPhone: message.customerPhone,
    customerPhoneE164: phone.ok ? phone.value.e164 : '',
    reason: message.reason,
    businessName: message.businessName,
    returnUrl: message.returnUrl,
    webhookUrl: message.webhookUrl,
    lastEventSequence: Number(message.lastEventSequence),
    createdAt: timeOf(message.createTime, 'create_time'),
    updatedAt: timeOf(message.updateTime, 'update_time'),
    expiresAt,
    sweepAt: status === 'PENDING' ? expiresAt : null,
  } satisfies Partial<OrderRow>;
}

/**
 * The columns of an attempt. An attempt that may still take money becomes UNKNOWN and due. The wallet may have got its request, so it is
 * queried before anything is sent.
 */
export function attemptColumns(message: AttemptMessage, origin: AttemptOrigin, transactionId: string) {
  const last = requireKnown(attemptStatusOf(message.status), 'attempt status');
  const createdAt = timeOf(message.createTime, 'create_time');
  const { walletAccountId: account } = message;
  const inFlight = isInFlight({ status: last });
  return {
    id: idIn('pat', message.paymentAttemptId),
    status: inFlight ? 'UNKNOWN' : last,
    origin,
    paymentOption: requireKnown(paymentOptionOf(message.paymentOption), 'payment_option'),
    phone: message.phone,
    declineReason: message.declineReason === '' ? null : (message.declineReason as DeclineReason),
    createdAt,
    updatedAt: timeOf(message.updateTime, 'update_time'),
    maybeSent: true,
    leases: 1,
    dueAt: inFlight ? createdAt : null,
    leasedUntil: null,
    promptUntil: newAttemptSchedule(createdAt).promptUntil,
    ...(transactionId === '' ? {} : { providerTransactionId: transactionId }),
    ...(account === undefined ? {} : { walletAccountId: account === '' ? null : idIn('wac', account) }),
  } satisfies Partial<PaymentAttemptRow>;
}

type AttemptColumns = ReturnType<typeof attemptColumns>;

/**
 * An attempt that another one followed, so it has ended without money. Its end may have no event. For example, money from the menu of the
 * phone ends an attempt that was never sent, and the event is only about the money. An attempt that is due stays due, and the wallet is
 * asked about it.
 */
export const supersededAttempt = <Attempt extends Pick<PaymentAttemptRow, 'status'>>(
  attempt: Attempt,
): Attempt => (isInFlight(attempt) ? { ...attempt, status: 'TIMED_OUT' } : attempt);

/**
 * The attempts of an order as its events describe them, with those that its refunds prove. Events of a payment may be missing, because the
 * broker keeps them for a shorter time than a lost time may be. A refund names the attempt that paid, so that attempt has succeeded. It is
 * the last of its order.
 */
export function paidAttempts(
  attempts: readonly AttemptColumns[],
  refunds: readonly ReturnType<typeof refundColumns>[],
  order: ReturnType<typeof orderColumns>,
  stored: ReadonlyMap<string, PaymentAttemptRow>,
): readonly AttemptColumns[] {
  const all = new Map<string, AttemptColumns>(attempts.map((attempt) => [attempt.id, attempt]));
  const { paymentType, customerPhoneE164: phone, createdAt, updatedAt } = order;
  for (const { paymentAttemptId: id, paymentOption, providerTransactionId } of refunds) {
    const known = all.get(id) ?? stored.get(id);
    if (known?.status === 'SUCCEEDED') continue;
    all.delete(id);
    all.set(id, {
      id,
      paymentOption,
      updatedAt,
      status: 'SUCCEEDED',
      declineReason: null,
      origin: known?.origin ?? (paymentType === 'DIRECT' ? 'DIRECT' : 'CHECKOUT'),
      phone: known?.phone ?? phone,
      createdAt: known?.createdAt ?? createdAt,
      promptUntil: newAttemptSchedule(known?.createdAt ?? createdAt).promptUntil,
      maybeSent: true,
      leases: 1,
      dueAt: null,
      leasedUntil: null,
      ...(providerTransactionId === '' ? {} : { providerTransactionId }),
      ...(known?.walletAccountId === undefined ? {} : { walletAccountId: known.walletAccountId }),
    });
  }
  return [...all.values()];
}

const origins: Readonly<Record<string, AttemptOrigin>> = {
  direct: 'DIRECT',
  checkout: 'CHECKOUT',
  payer: 'PAYER',
};

/**
 * The origin of the attempt that the event started. Events of earlier versions do not record it, and neither do later events of an attempt. Then
 * an attempt without a phone is a payer's, and one of a DIRECT order is direct. A direct payment of a registered order cannot be recognised.
 */
export function originOf({ decision, paymentAttempt, order }: OrderEventMessage): AttemptOrigin {
  const recorded = origins[decision?.attemptOrigin ?? ''];
  if (recorded !== undefined) return recorded;
  if (paymentAttempt?.phone === '') return 'PAYER';
  return order !== undefined && paymentTypeOf(order.paymentType) === 'DIRECT' ? 'DIRECT' : 'CHECKOUT';
}

/** The columns of a refund. The wallet may have got a refund that is due, so it is queried before the refund is sent again with its id. */
export function refundColumns(message: RefundMessage) {
  const currency = Currency.of(message.currency);
  const amount = Money.parse(message.amount, 'amount', currency);
  if (!amount.ok) throw missingError('amount');
  const environment = parseEnvironment(message.environment);
  if (!environment.ok) throw missingError('environment');
  const updatedAt = timeOf(message.updateTime, 'update_time');
  const status = refundStatusOf(message);
  return {
    merchantId: idIn('mer', message.merchantId),
    id: idIn('rfd', message.refundId),
    environment: environment.value,
    refundNumber: message.refundNumber,
    orderId: idIn('ord', message.orderId),
    orderNumber: message.orderNumber,
    paymentAttemptId: idIn('pat', message.paymentAttemptId),
    paymentOption: requireKnown(paymentOptionOf(message.paymentOption), 'payment_option'),
    providerTransactionId: message.providerTransactionId,
    amountMinorUnits: amount.value.minorUnits,
    // Events do not tell whether the request named the amount. So a repeat may name it or leave it out.
    amountGiven: false,
    currency: message.currency,
    reason: message.reason,
    requestedBy: message.requestedBy,
    decidedBy: message.decidedBy,
    settlementId: message.settlementId === '' ? null : idIn('stl', message.settlementId),
    status,
    detail: message.detail,
    refusalReason: status === 'REVERSAL_REFUSED' ? message.failureReason : '',
    tries: message.tries,
    maybeSent: status === 'REVERSAL_DUE',
    providerReference: message.providerReference === '' ? null : message.providerReference,
    dueAt: status === 'REVERSAL_DUE' ? updatedAt : null,
    leasedUntil: null,
    leaseId: null,
    createdAt: timeOf(message.createTime, 'create_time'),
    updatedAt,
  } satisfies Partial<RefundRow>;
}

function refundStatusOf({ status, failureReason }: RefundMessage): RefundRow['status'] {
  switch (status) {
    case RefundStatus.AWAITING_APPROVAL:
      return 'AWAITING_APPROVAL';
    case RefundStatus.COMPLETED:
      return 'REVERSED';
    case RefundStatus.FAILED:
      return failureReason === 'approval_declined' ? 'APPROVAL_DECLINED' : 'REVERSAL_REFUSED';
    case RefundStatus.REQUESTED:
    case RefundStatus.SENT:
    case RefundStatus.UNKNOWN:
      return 'REVERSAL_DUE';
    default:
      throw missingError('refund status');
  }
}

/** The latest attempts and refunds of an order's events, oldest attempt first. */
export function latestParts(events: readonly OrderEventMessage[]) {
  const attempts = new Map<
    string,
    { message: AttemptMessage; origin: AttemptOrigin; transactionId: string }
  >();
  const refunds = new Map<string, RefundMessage>();
  for (const event of events) {
    const { paymentAttempt, refund, providerTransactionId } = event;
    if (paymentAttempt !== undefined) {
      const { paymentAttemptId: id } = paymentAttempt;
      // A core of an earlier version leaves the account out.
      const earlier = attempts.get(id);
      const account = paymentAttempt.walletAccountId ?? earlier?.message.walletAccountId;
      const message = { ...paymentAttempt, ...(account === undefined ? {} : { walletAccountId: account }) };
      const origin = earlier?.origin ?? originOf(event);
      attempts.set(id, { message, origin, transactionId: providerTransactionId });
    }
    if (refund !== undefined) refunds.set(refund.refundId, refund);
  }
  return { attempts: [...attempts.values()], refunds: [...refunds.values()] };
}
