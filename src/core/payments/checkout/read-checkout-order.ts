import { createBatcher } from '../../../platform/batcher.ts';
import { isDatabaseUnavailable } from '../../../platform/database/explain-error.ts';
import { findAllByKey } from '../../../platform/database/find-by-key.ts';
import { batchLimits } from '../../database/batch-limits.ts';
import type { Database } from '../../database/database.ts';
import { OrderRow, PaymentAttemptRow } from '../../database/order-entities.ts';
import type { OrderInFull } from '../../domain/order.ts';
import { readOrders } from '../changes/read-order.ts';

/** An order, as the page of its checkout needs it. */
export interface CheckoutOrder {
  readonly row: OrderRow;
  readonly order: OrderInFull;
  /** The row of its latest attempt. */
  readonly attempt: PaymentAttemptRow | undefined;
}

type OrderKey = Pick<OrderRow, 'environment' | 'merchantId' | 'id'>;

/** Reads the order of a checkout; null without one. Errors: RESOURCE_EXHAUSTED OVERLOADED. */
export type ReadCheckoutOrder = (key: OrderKey, signal: AbortSignal) => Promise<CheckoutOrder | null>;

/** How many checkouts one statement reads. */
export const maxCheckoutsRead = 50;

/** Pages that are requested at the same time share their statements, because a round trip costs more than a row. */
export function createReadCheckoutOrder(database: Pick<Database, 'fork'>): ReadCheckoutOrder {
  return createBatcher<OrderKey, CheckoutOrder | null>({
    ...batchLimits,
    name: 'read checkouts',
    maxItems: maxCheckoutsRead,
    maxInFlight: 2,
    isOneItemsFault: (error) => !isDatabaseUnavailable(error),
    async run(keys) {
      const em = database.fork();
      const rows = await findAllByKey(em, OrderRow, keys);
      const orders = await readOrders(em, rows);
      const found = new Map<string, CheckoutOrder>();
      for (const [index, order] of orders.entries()) {
        const row = rows[index];
        if (row === undefined) continue;
        const { merchantId, environment, id, latestAttemptId } = row;
        // `readOrders` has loaded it.
        const attempt =
          latestAttemptId == null
            ? undefined
            : em.getUnitOfWork().getById(PaymentAttemptRow, [merchantId, latestAttemptId]);
        found.set(nameOf({ merchantId, environment, id }), { row, order, attempt });
      }
      return keys.map((key) => found.get(nameOf(key)) ?? null);
    },
  });
}

const nameOf = ({ environment, merchantId, id }: OrderKey): string => `${environment} ${merchantId} ${id}`;
