import type { FairCalls } from '../../../platform/fair-calls.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import type { OrderInFull } from '../../domain/order.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { decisionOf } from '../changes/change-orders.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { readLostPayment } from '../changes/lost-payment.ts';
import type { LostPaymentParts } from '../changes/lost-payment.ts';
import { readOpenPayments } from '../changes/open-payments.sql.ts';
import type { Decision } from '../changes/order-change.ts';
import { byOrderId } from '../changes/read-order.ts';
import { isUsableBy, nameOf, ownerOf } from './checkout-order.ts';
import type { CancelRefusal } from './checkout-refusals.ts';
import type { TokenSubject } from './checkout-token.ts';

/** The browser and the call that cancel a checkout. */
export interface CancellingCall {
  readonly subject: TokenSubject;
  readonly browserSecret: string;
  readonly requestId: string;
}

/** An order after a change, and whether it is bound to the browser that asked for the change. */
export interface ChangedCheckout {
  readonly order: OrderInFull;
  readonly boundHere: boolean;
}

export interface CancelCheckoutParts extends LostPaymentParts {
  readonly changes: Pick<OrderChanges, 'share'>;
  /** Limits the cancellations of a checkout that wait for their order. */
  readonly fairly: FairCalls;
  readonly wallets: readonly Wallet[];
}

/** Cancels the orders of checkouts. Returns an order that has failed already as it is. Cancellations that arrive together share a transaction. */
export function createCancelCheckout(
  parts: CancelCheckoutParts,
): (call: CancellingCall) => Promise<Result<ChangedCheckout, CancelRefusal | 'not_found'>> {
  const { changes, fairly } = parts;
  return changes.share({
    orders: byOrderId,
    nameOf: ({ subject }: CancellingCall) => nameOf(subject),
    requestIdOf: ({ requestId }) => requestId,
    alone: ({ subject }, make) => fairly(ownerOf(subject), { aborted: false }, make),
    load: readTakesPayments,
    loadsFirst: true,
    read: async (em, { row, call, loaded }) => ({
      isUsable: isUsableBy(row, call.browserSecret),
      lostPaymentOf: await readLostPayment(em, parts, row, loaded),
      isPayerPaying: await readOpenPayments(em, parts.wallets, [row]),
    }),
    decide(order, { isUsable, lostPaymentOf, isPayerPaying }, now): Result<Decision, CancelRefusal> {
      if (!isUsable) return err('in_use');
      if (order.status === 'FAILED') return ok({ changed: undefined });
      const cancelled = decisionOf(transition(order, { type: 'cancel' }, now));
      if (cancelled.ok && lostPaymentOf(order, now) !== 'none') return err('may_be_paid');
      return cancelled.ok && isPayerPaying(order) ? err('payer_pays') : cancelled;
    },
    write: (_em, { changed }, { taken: { row }, order }): ChangedCheckout => ({
      order: changed?.order ?? order,
      boundHere: row.checkoutBrowserHash != null,
    }),
  });
}
