import type { EntityManager } from '@mikro-orm/postgresql';
import { lowestStoredIdAt } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { openQuestions } from '../database/open-questions.sql.ts';
import type { OpenQuestions } from '../database/open-questions.sql.ts';

/** The tolerated difference between the clock of a core, which ids contain, and that of the database. */
const clockToleranceMs = 15 * 60_000;

/** Whether a restore may have lost merchants about which no operator has answered. */
export async function mayBeLost(em: EntityManager): Promise<boolean> {
  const [row] = await em.execute<OpenQuestions[]>(openQuestions);
  return row?.merchantsLostFrom != null;
}

/** Whether a restore can have lost the merchant: the events name it, or its id is of the lost time. */
export async function wasLost(em: EntityManager, id: StoredId<'mer'>): Promise<boolean> {
  const named = await em.execute<unknown[]>(
    'select from core.recovery_merchants where merchant_id = ? limit 1',
    [id],
  );
  if (named.length > 0) return true;
  const recoveries = await em.execute<{ from: string; until: string }[]>(
    `select extract(epoch from lost_from) * 1000 as from, extract(epoch from lost_until) * 1000 as until from core.recoveries`,
  );
  const idAt = (ms: number): string => lowestStoredIdAt(new Date(ms));
  return recoveries.some(
    ({ from, until }) =>
      idAt(Number(from) - clockToleranceMs) <= id && id < idAt(Number(until) + clockToleranceMs),
  );
}
