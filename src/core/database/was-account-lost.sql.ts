import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../contract/public-id.ts';

/** Whether payments may have used the account before a restore lost it, so that it is never replaced by another. */
export async function wasAccountLost(
  em: EntityManager,
  { merchantId, id }: { readonly merchantId: StoredId<'mer'>; readonly id: StoredId<'wac'> },
): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    'select from core.recovery_accounts where merchant_id = ? and wallet_account_id = ? limit 1',
    [merchantId, id],
  );
  return rows.length > 0;
}
