import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import type { TakesPayments } from '../../database/takes-payments.sql.ts';
import type { Environment, Order } from '../../domain/order.ts';
import { ok } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { lockDueOrders } from '../changes/lock-order.sql.ts';
import { claimBeforeEnd, readLostPayment } from '../changes/lost-payment.ts';
import type { LostPayment, LostPaymentParts } from '../changes/lost-payment.ts';
import type { Decision, Locked } from '../changes/order-change.ts';
import { readOpenPayments } from '../changes/open-payments.sql.ts';

const batchSize = 200;

/**
 * The time until the expiry of an order is tried again. An order cannot expire while its attempt is in flight, or while its payer is
 * paying from the menu of the phone. Nor can it expire if it may have been paid before a restore.
 */
const retryAfterMs = 15_000;

export interface ExpireOrdersParts extends LostPaymentParts {
  readonly gate: LostPaymentParts['gate'] & Pick<PaymentGate, 'isOpen'>;
  readonly wallets: readonly Wallet[];
  /** The time of this machine's clock. */
  readonly machineNow: () => Date;
}

const environments = ['SANDBOX', 'PRODUCTION'] as const;

interface DueOrder extends Locked {
  readonly takes: TakesPayments;
  readonly isPayerPaying: (order: Order) => boolean;
}

async function takeDueOrders(
  em: EntityManager,
  { wallets, machineNow }: Pick<ExpireOrdersParts, 'wallets' | 'machineNow'>,
  environments: readonly Environment[],
  exceptIds: readonly StoredId<'ord'>[],
): Promise<DueOrder[]> {
  const rows = await lockDueOrders(em, {
    environments,
    exceptIds,
    limit: batchSize,
    machineNow: machineNow(),
  });
  if (rows.length === 0) return [];
  const takes = await readTakesPayments(em);
  const isPayerPaying = await readOpenPayments(em, wallets, rows);
  return rows.map((row) => ({ row, takes, isPayerPaying }));
}

interface Expiry extends Decision {
  readonly lost: LostPayment;
}

/**
 * Expires the orders whose session has expired, in small batches, until none is left. An expiry is final. So the database's clock and this
 * machine's must both have reached its time, although payments follow the database's alone.
 *
 * An order that was paid before a restore gets its payment instead. An order that its payer has paid from the menu of the phone waits for the
 * wallet. The orders of an environment that takes no payments yet are left out, because each of them may have been paid. Returns the number
 * of orders that it tried.
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
    const taken = await changeEach((em, exceptIds) => takeDueOrders(em, parts, open, exceptIds), {
      requestId: '',
      read: async (em, { row, takes, isPayerPaying }) => ({
        lostPaymentOf: await readLostPayment(em, parts, row, takes),
        isPayerPaying,
      }),
      decide(order, { lostPaymentOf, isPayerPaying }, now) {
        const lost = lostPaymentOf(order, now);
        if (lost !== 'none' || isPayerPaying(order)) return ok<Expiry>({ changed: undefined, lost });
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
