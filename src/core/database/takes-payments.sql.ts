import type { EntityManager } from '@mikro-orm/postgresql';
import type { Environment } from '../domain/order.ts';

/**
 * Whether wallets may be called for new money. False from the moment at which the database is a restored one, even before any
 * core knows of it: the transaction that leases the work asks.
 */
export async function takesPayments(em: EntityManager, environment: Environment): Promise<boolean> {
  const [row] = await em.execute<{ open: boolean }[]>(
    'select core.takes_payments(?::core.environment) as open',
    [environment],
  );
  return row?.open === true;
}
