import type { EntityManager } from '@mikro-orm/postgresql';
import { runReading } from '../../platform/database/transaction-statement.ts';

/** The database's clock, which all processes share, at the transaction's start. (The ORM's connections give times as text.) */
export async function readClock(em: EntityManager): Promise<Date> {
  const [clock] = await runReading<{ now: string }>(em, { name: 'read-clock', text: 'select now() as now' });
  return new Date(clock?.now ?? NaN);
}
