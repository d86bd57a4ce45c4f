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

/**
 * Whether a removed account may come back under its id. A restore must have lost the account. In addition, it must not have been added
 * again since, unless a recovery still waits for it. The payee of an account is recorded when it is added, and remains after its removal, unless its credentials were not accepted.
 */
export async function mayAccountBeRestored(
  em: EntityManager,
  { merchantId, id }: { readonly merchantId: StoredId<'mer'>; readonly id: StoredId<'wac'> },
): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `
select from core.recovery_accounts l join core.recoveries r on r.id = l.recovery_id
where l.merchant_id = ? and l.wallet_account_id = ? and (r.finished_at is null or not exists (
  select from core.payee_accounts p where p.merchant_id = l.merchant_id and p.wallet_account_id = l.wallet_account_id
))
limit 1`,
    [merchantId, id],
  );
  return rows.length > 0;
}
