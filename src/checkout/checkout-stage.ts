import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Checkout, MoneyNotReturned } from '../gen/gatehouse/v1/checkout_service_pb.js';
import { OrderStatus, PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { Order, PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';

/** The stage of a checkout, which selects its page. Every order is in exactly one stage at a time. */
export type CheckoutStage =
  /** No payment is in progress, and one may be started. `refused` is the previous attempt, if any. */
  | { readonly name: 'pay'; readonly refused: PaymentAttempt | undefined }
  /**
   * A request was sent to a wallet, or will be. `unsent`: the sending takes longer than usual. `slow`: the outcome takes longer than usual.
   * `opens`: the payer must open or read something in order to confirm.
   */
  | {
      readonly name: 'confirm';
      readonly attempt: PaymentAttempt;
      readonly unsent: boolean;
      readonly slow: boolean;
      readonly opens: boolean;
    }
  /** The wallet holds money of an earlier attempt that does not pay the order. No other attempt may start until it is returned. */
  | { readonly name: 'not_returned'; readonly money: MoneyNotReturned }
  /**
   * The time to pay is over, and core has not expired the order yet. That takes seconds, unless the order may have been paid: after a restore,
   * core first asks the wallets.
   */
  | { readonly name: 'expiring' }
  /** The last attempt has failed, and a payment from the menu of the phone is being confirmed. */
  | { readonly name: 'checking' }
  | { readonly name: 'paid' }
  | { readonly name: 'failed' }
  | { readonly name: 'cancelled' }
  | { readonly name: 'expired' }
  | { readonly name: 'in_use' };

/** A prompt on a phone is answered within three minutes or not at all. A wallet's own page stays open for longer. */
const slowPromptMs = 180_000;
/** A request is sent within a few seconds, unless the wallet or our process for it fails. */
const unsentMs = 30_000;

/**
 * Selects the stage. Money comes first: while an attempt may still take money, the customer sees that attempt, even after the
 * session. Only an order with a final outcome, or one that cannot have been paid, gets another stage.
 */
export function stageOf(checkout: Checkout, order: Order, nowMs: number): CheckoutStage {
  switch (order.status) {
    case OrderStatus.COMPLETED:
      return { name: 'paid' };
    case OrderStatus.EXPIRED:
      return { name: 'expired' };
    case OrderStatus.FAILED:
      return { name: checkout.attemptsLeft > 0 || checkout.lastAttemptCancelled ? 'cancelled' : 'failed' };
    case OrderStatus.PENDING:
    case OrderStatus.UNSPECIFIED:
      return openStage(checkout, order, nowMs);
  }
}

function openStage(checkout: Checkout, order: Order, nowMs: number): CheckoutStage {
  if (!checkout.usableHere) return { name: 'in_use' };
  const attempt = checkout.latestAttempt;
  if (attempt !== undefined && mayHoldMoney(attempt)) {
    const opens = checkout.nextAction !== undefined;
    const inStatusMs = attempt.updateTime === undefined ? 0 : nowMs - timestampMs(attempt.updateTime);
    const isRequested = attempt.status === PaymentAttemptStatus.REQUESTED;
    const unsent = isRequested && inStatusMs >= unsentMs;
    const isPromptOver = !isRequested && !opens && inStatusMs >= slowPromptMs;
    const slow = isPromptOver || attempt.status === PaymentAttemptStatus.UNKNOWN;
    return { name: 'confirm', attempt, unsent, slow, opens };
  }
  if (secondsLeft(order, nowMs) === 0) return { name: 'expiring' };
  const { moneyNotReturned: money } = checkout;
  if (money !== undefined) return { name: 'not_returned', money };
  // Without another try, the order is only open while a payment from the menu of the phone is confirmed.
  return checkout.attemptsLeft > 0 ? { name: 'pay', refused: attempt } : { name: 'checking' };
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

/** Whether the order will not change again. */
export const isFinal = ({ name }: CheckoutStage): boolean =>
  name === 'paid' || name === 'failed' || name === 'cancelled' || name === 'expired';

/**
 * Whether the customer may still cancel, which is possible until a request is sent to a wallet. Core decides again at the
 * cancellation, because the request may have been sent in between.
 */
export const isCancellable = (stage: CheckoutStage): boolean =>
  stage.name === 'pay' ||
  (stage.name === 'confirm' && stage.attempt.status === PaymentAttemptStatus.REQUESTED);

/** Whole seconds until the payment session expires, rounded up; 0 afterwards. */
export function secondsLeft(order: Order, nowMs: number): number {
  if (order.expireTime === undefined) return 0;
  return Math.max(0, Math.ceil((timestampMs(order.expireTime) - nowMs) / 1000));
}

/** A version of the page's content, which changes when the page must show something else. */
export function stageVersion(stage: CheckoutStage): string {
  switch (stage.name) {
    case 'pay':
      return stage.refused === undefined ? 'pay' : `pay-after-${stage.refused.paymentAttemptId}`;
    case 'confirm':
      return `confirm-${stage.attempt.paymentAttemptId}${stage.opens ? '-open' : ''}${stage.slow ? '-slow' : ''}${stage.unsent ? '-unsent' : ''}`;
    case 'not_returned':
      return stage.money.reversalRefused ? 'not-returned-refused' : 'not-returned';
    default:
      return stage.name;
  }
}
