import type { NewId } from '../../../contract/public-id.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Changed, Order } from '../../domain/order.ts';
import { err } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { RejectionOf } from '../../domain/transition.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { decisionOf } from '../changes/change-orders.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { claimBeforeEnd, readLostPayment } from '../changes/lost-payment.ts';
import type { LostPaymentParts } from '../changes/lost-payment.ts';
import { byOrderId } from '../changes/read-order.ts';
import { readOpenPayments } from '../changes/open-payments.sql.ts';

/**
 * Cancels an order. Errors: ORDER_NOT_FOUND; RECOVERING while a restore may have lost the order or its payment; PAYMENT_IN_PROGRESS,
 * ORDER_NOT_PAYABLE; OVERLOADED when too many cancellations of the order wait.
 */
export type CancelOrder = (name: Cancellation['name'], by: Actor) => Promise<Order>;

interface Cancellation {
  readonly name: Pick<Order, 'merchantId' | 'environment' | 'id'>;
  readonly by: Actor;
}

export interface CancelOrderParts extends LostPaymentParts {
  readonly changes: Pick<OrderChanges, 'share'>;
  /** Limits the cancellations that wait for orders that others hold, by merchant and environment. */
  readonly fairly: FairCalls;
  readonly gate: LostPaymentParts['gate'] & Pick<PaymentGate, 'missing'>;
  readonly newId: NewId;
  readonly wallets: readonly Wallet[];
}

type CancelRefusal = RejectionOf<'cancel'> | 'may_be_paid' | 'payer_pays';

export function createCancelOrder(parts: CancelOrderParts): CancelOrder {
  const { changes, fairly, gate, newId } = parts;
  const cancel = changes.share({
    orders: byOrderId,
    nameOf: ({ name }: Cancellation) => name,
    requestIdOf: ({ by }) => by.requestId,
    alone: ({ name: { environment, merchantId, id } }, make) =>
      fairly({ owner: `${environment} ${merchantId}`, part: id }, { aborted: false }, make),
    load: readTakesPayments,
    loadsFirst: true,
    read: async (em, { row, loaded }) => ({
      lostPaymentOf: await readLostPayment(em, parts, row, loaded),
      isPayerPaying: await readOpenPayments(em, parts.wallets, [row]),
    }),
    decide(
      order,
      { lostPaymentOf, isPayerPaying },
      now,
    ): Result<{ readonly changed: Changed }, CancelRefusal> {
      const cancelled = decisionOf(transition(order, { type: 'cancel' }, now));
      if (cancelled.ok && lostPaymentOf(order, now) !== 'none') return err('may_be_paid');
      return cancelled.ok && isPayerPaying(order) ? err('payer_pays') : cancelled;
    },
    write(em, { changed: { order } }, { taken: { call }, now }) {
      const { merchantId, environment, id: targetId, orderNumber } = order;
      const details = { environment: environment.toLowerCase(), order_number: orderNumber };
      recordAudit(em, newId, now, call.by, { action: 'order.cancel', merchantId, targetId, details });
      return order;
    },
  });
  return async (name, by) => {
    await claimBeforeEnd(parts, name, by.requestId);
    const cancelled = await cancel({ name, by });
    if (cancelled.ok) return cancelled.value;
    throw cancelled.error === 'not_found' ? await gate.missing(name) : refusalError(cancelled.error);
  };
}

function refusalError(rejection: CancelRefusal): Error {
  if (rejection === 'may_be_paid') return recovering();
  if (rejection === 'payer_pays') return rpcError('PAYMENT_IN_PROGRESS', payerPays);
  switch (rejection.type) {
    case 'payment_in_progress':
      return rpcError('PAYMENT_IN_PROGRESS', 'a payment is under way; wait for its outcome');
    case 'order_is_final':
      return rpcError('ORDER_NOT_PAYABLE', alreadyFinal[rejection.status]);
  }
}

const payerPays =
  'the payer has paid from the menu of the phone, and the wallet has not confirmed that yet; wait for the outcome of the payment';

/** A caller that repeats a cancellation after a lost answer gets the first of these. */
const alreadyFinal = {
  FAILED: 'the order is FAILED already, so nothing is left to cancel',
  EXPIRED: 'the order is EXPIRED already, so nothing is left to cancel',
  COMPLETED: 'the order is COMPLETED, so it cannot be cancelled; create a refund instead',
} as const;
