import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import { bulkStatement, plainColumn, rowList } from '../../../platform/database/bulk-statement.ts';
import { runInTransaction } from '../../../platform/database/transaction-statement.ts';

export interface AttemptKey {
  readonly merchantId: StoredId<'mer'>;
  readonly id: StoredId<'pat'>;
}

const statement = bulkStatement(
  'count-exchanges',
  {
    attempt: rowList<AttemptKey>(
      {
        merchant_id: plainColumn('uuid', (attempt) => attempt.merchantId),
        id: plainColumn('uuid', (attempt) => attempt.id),
      },
      { hidesLength: true },
    ),
  },
  (sql) => `
select attempt.id, (
  select count(*)::integer from core.wallet_exchanges kept
  where kept.merchant_id = attempt.merchant_id and kept.payment_attempt_id = attempt.id
) as stored
from ${sql.attempt}`,
);

/** Counts the stored exchanges of several attempts. Returns the number of each. */
export async function countExchanges(
  em: EntityManager,
  attempts: readonly AttemptKey[],
): Promise<(attempt: Pick<AttemptKey, 'id'>) => number> {
  const rows = await runInTransaction<{ id: string; stored: number }>(
    em,
    statement.with({ attempt: attempts }),
  );
  const counts = new Map(rows.map(({ id, stored }) => [id, stored]));
  return ({ id }) => counts.get(id) ?? 0;
}
