import type { EntityManager } from '@mikro-orm/postgresql';
import { lowestStoredIdAt } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { bulkStatement, plainColumn, rowList } from '../../../platform/database/bulk-statement.ts';
import { runInTransaction } from '../../../platform/database/transaction-statement.ts';
import { recentMs } from '../../domain/hastened.ts';
import type { ExchangeOwner } from './keep-exchanges.ts';

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
  return storedOf(rows);
}

const recentStatement = bulkStatement(
  'count-recent-exchanges',
  {
    owner: rowList<ExchangeOwner & { readonly since: StoredId<never> }>(
      {
        merchant_id: plainColumn('uuid', (owner) => owner.merchantId),
        id: plainColumn('uuid', (owner) => owner.id),
        since: plainColumn('uuid', (owner) => owner.since),
      },
      { hidesLength: true },
    ),
  },
  (sql) => `
select owner.id, (
  select count(*)::integer from core.wallet_exchanges recent
  where recent.merchant_id = owner.merchant_id and recent.payment_attempt_id = owner.id and recent.id >= owner.since
) as stored
from ${sql.owner}`,
);

/** Counts the exchanges of several owners that are stored since `recentMs` before `now`. Returns the number of each. */
export async function countRecentExchanges(
  em: EntityManager,
  owners: readonly ExchangeOwner[],
  now: Date,
): Promise<(owner: Pick<ExchangeOwner, 'id'>) => number> {
  const since = lowestStoredIdAt(new Date(now.getTime() - recentMs));
  const rows = await runInTransaction<{ id: string; stored: number }>(
    em,
    recentStatement.with({ owner: owners.map(({ merchantId, id }) => ({ merchantId, id, since })) }),
  );
  return storedOf(rows);
}

function storedOf(rows: readonly { readonly id: string; readonly stored: number }[]) {
  const counts = new Map(rows.map(({ id, stored }) => [id, stored]));
  return ({ id }: { readonly id: string }): number => counts.get(id) ?? 0;
}
