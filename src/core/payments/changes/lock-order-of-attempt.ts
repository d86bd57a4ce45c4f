import type { EntityManager } from '@mikro-orm/postgresql';
import type { Environment } from '../../domain/order.ts';
import type { LockedOrder, OrderChanges } from './change-order.ts';
import type { StoredId } from '../../../contract/public-id.ts';

/** Stored ids. */
export interface AttemptKey {
  readonly merchantId: StoredId<'mer'>;
  readonly id: string;
}

/**
 * Locks the order of an attempt. The way there is read as plain values, not as an entity: what the ORM has read before
 * the lock it would go on believing after it.
 */
export async function lockOrderOf(
  em: EntityManager,
  changes: OrderChanges,
  { merchantId, id }: AttemptKey,
): Promise<LockedOrder | undefined> {
  const [found] = await em.execute<{ environment: Environment; order_id: StoredId<'ord'> }[]>(
    'select environment, order_id from core.payment_attempts where merchant_id = ? and id = ?',
    [merchantId, id],
  );
  if (found === undefined) return undefined;
  return changes.lock(em, { merchantId, environment: found.environment, id: found.order_id });
}
