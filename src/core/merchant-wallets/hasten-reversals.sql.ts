import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../contract/public-id.ts';

/** A reversal that another transaction holds is skipped, because that transaction makes it due or records its result. So two transactions cannot block each other. */
const statementOf = (table: 'refunds' | 'stray_payments'): string => `
update core.${table} set due_at = ?
where (merchant_id, id) in (
  select r.merchant_id, r.id from core.${table} r
  join core.payment_attempts a on a.merchant_id = r.merchant_id and a.id = r.payment_attempt_id
  where a.merchant_id = ? and a.wallet_account_id = ?
    and r.status = 'REVERSAL_DUE' and not r.maybe_sent and r.due_at > ?
  for update of r skip locked
)`;

/** Makes the reversals due that could not be sent with this account, because the wallet accepts its credentials now. */
export async function hastenReversals(
  em: EntityManager,
  { merchantId, id }: { readonly merchantId: StoredId<'mer'>; readonly id: StoredId<'wac'> },
  at: Date,
): Promise<void> {
  for (const table of ['refunds', 'stray_payments'] as const)
    await em.execute(statementOf(table), [at, merchantId, id, at]);
}
