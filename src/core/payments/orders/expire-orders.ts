import type { EntityManager } from '@mikro-orm/postgresql';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import type { TakesPayments } from '../../database/takes-payments.sql.ts';
import type { Environment, Order } from '../../domain/order.ts';
import { ok } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { lockDueOrders } from '../changes/lock-order.sql.ts';
import { claimBeforeEnd, readLostPayment } from '../changes/lost-payment.ts';
import type { LostPayment, LostPaymentParts } from '../changes/lost-payment.ts';
import type { Decision, Locked } from '../changes/order-change.ts';

const batchSize = 200;

/** An order whose attempt is in flight, or that may have been paid before a restore, cannot expire. Its expiry is tried again after this time. */
const retryAfterMs = 15_000;

export interface ExpireOrdersParts extends LostPaymentParts {
  readonly gate: LostPaymentParts['gate'] & Pick<PaymentGate, 'isOpen'>;
}

const environments = ['SANDBOX', 'PRODUCTION'] as const;

interface DueOrder extends Locked {
  readonly takes: TakesPayments;
}

async function takeDueOrders(em: EntityManager, environments: readonly Environment[]): Promise<DueOrder[]> {
  const rows = await lockDueOrders(em, environments, batchSize);
  if (rows.length === 0) return [];
  const takes = await readTakesPayments(em);
  return rows.map((row) => ({ row, takes }));
}

interface Expiry extends Decision {
  readonly lost: LostPayment;
}

/**
 * Expires the orders whose session has expired, in small batches, until none is left. An order that was paid before a restore gets its
 * payment instead. The orders of an environment that takes no payments yet are left out, because each of them may have been paid. Returns the
 * number of orders it tried.
 */
export async function expireOrders(
  { changeEach }: Pick<OrderChanges, 'changeEach'>,
  parts: ExpireOrdersParts,
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const open = environments.filter(parts.gate.isOpen);
    if (open.length === 0) break;
    const taken = await changeEach((em) => takeDueOrders(em, open), {
      requestId: '',
      read: (em, { row, takes }) => readLostPayment(em, parts, row, takes),
      decide(order, lostPaymentOf, now) {
        const lost = lostPaymentOf(order, now);
        if (lost !== 'none') return ok<Expiry>({ changed: undefined, lost });
        const expired = transition(order, { type: 'expire' }, now);
        return ok<Expiry>({ changed: expired.ok ? expired.value : undefined, lost });
      },
      write(_em, { changed, lost }, { taken: { row }, order, now }): Order | undefined {
        if (changed === undefined) row.sweepAt = new Date(now.getTime() + retryAfterMs);
        return lost === 'unclaimed' ? order : undefined;
      },
    });
    for (const order of taken)
      if (order.ok && order.value !== undefined) await claimBeforeEnd(parts, order.value, '');
    total += taken.length;
    if (taken.length < batchSize) break;
  }
  return total;
}
