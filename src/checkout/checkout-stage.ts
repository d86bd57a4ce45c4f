import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Checkout, MoneyNotReturned } from '../gen/gatehouse/v1/checkout_service_pb.js';
import { OrderStatus, PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { Order, PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';

/** What a customer is to be shown of a checkout. Every order is in exactly one of these at a time. */
export type CheckoutStage =
  /** Nothing runs: a payment may be started. `refused` is the try before, when there was one. */
  | { readonly name: 'pay'; readonly refused: PaymentAttempt | undefined }
  /** A wallet has been asked, or is about to be. `slow`: long enough ago for the customer to wonder. */
  | { readonly name: 'confirm'; readonly attempt: PaymentAttempt; readonly slow: boolean }
  /** Money of an earlier try is with the wallet and pays nothing: no other try until it is back with the payer. */
  | { readonly name: 'not_returned'; readonly money: MoneyNotReturned }
  | { readonly name: 'paid' }
  | { readonly name: 'failed' }
  | { readonly name: 'cancelled' }
  | { readonly name: 'expired' }
  | { readonly name: 'in_use' };

/** A prompt on a phone is answered within three minutes or not at all. */
const slowAfterMs = 180_000;

/**
 * Says what to show. Money comes first: while an attempt may still take some, the customer sees that attempt, however
 * late it is. Only an order whose outcome is settled, or that nobody can have paid, is called anything else.
 */
export function stageOf(checkout: Checkout, order: Order, nowMs: number): CheckoutStage {
  switch (order.status) {
    case OrderStatus.COMPLETED:
      return { name: 'paid' };
    case OrderStatus.EXPIRED:
      return { name: 'expired' };
    case OrderStatus.FAILED:
      return { name: checkout.attemptsLeft > 0 ? 'cancelled' : 'failed' };
    case OrderStatus.PENDING:
    case OrderStatus.UNSPECIFIED:
      return openStage(checkout, order, nowMs);
  }
}

function openStage(checkout: Checkout, order: Order, nowMs: number): CheckoutStage {
  if (!checkout.usableHere) return { name: 'in_use' };
  const attempt = checkout.latestAttempt;
  if (attempt !== undefined && mayHoldMoney(attempt)) {
    const sinceMs = attempt.createTime === undefined ? nowMs : timestampMs(attempt.createTime);
    const slow = attempt.status === PaymentAttemptStatus.UNKNOWN || nowMs - sinceMs >= slowAfterMs;
    return { name: 'confirm', attempt, slow };
  }
  // Core will say so too, within seconds.
  if (secondsLeft(order, nowMs) === 0) return { name: 'expired' };
  const { moneyNotReturned: money } = checkout;
  if (money !== undefined) return { name: 'not_returned', money };
  return checkout.attemptsLeft > 0 ? { name: 'pay', refused: attempt } : { name: 'failed' };
}

function mayHoldMoney({ status }: PaymentAttempt): boolean {
  switch (status) {
    case PaymentAttemptStatus.DECLINED:
    case PaymentAttemptStatus.TIMED_OUT:
      return false;
    case PaymentAttemptStatus.UNSPECIFIED:
    case PaymentAttemptStatus.REQUESTED:
    case PaymentAttemptStatus.SENT:
    case PaymentAttemptStatus.UNKNOWN:
    case PaymentAttemptStatus.SUCCEEDED:
      return true;
  }
}

/** Whether nothing more will happen to the order. */
export const isFinal = ({ name }: CheckoutStage): boolean =>
  name === 'paid' || name === 'failed' || name === 'cancelled' || name === 'expired';

/**
 * Whether the customer may still cancel: while no wallet has been asked. Core decides again when it is asked to, because
 * the request may have gone out in between.
 */
export const isCancellable = (stage: CheckoutStage): boolean =>
  stage.name === 'pay' ||
  (stage.name === 'confirm' && stage.attempt.status === PaymentAttemptStatus.REQUESTED);

/** Whole seconds until the payment session ends, rounded up; 0 once it has. */
export function secondsLeft(order: Order, nowMs: number): number {
  if (order.expireTime === undefined) return 0;
  return Math.max(0, Math.ceil((timestampMs(order.expireTime) - nowMs) / 1000));
}

/** A name for what the page shows, which is another one as soon as it should show something else. */
export function stageVersion(stage: CheckoutStage): string {
  switch (stage.name) {
    case 'pay':
      return stage.refused === undefined ? 'pay' : `pay-after-${stage.refused.paymentAttemptId}`;
    case 'confirm':
      return `confirm-${stage.attempt.paymentAttemptId}${stage.slow ? '-slow' : ''}`;
    case 'not_returned':
      return stage.money.reversalRefused ? 'not-returned-refused' : 'not-returned';
    default:
      return stage.name;
  }
}
