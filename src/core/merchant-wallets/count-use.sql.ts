import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../contract/public-id.ts';
import type { AccountUse } from '../domain/wallet-account.ts';

/** Attempts that have ended are still queried while they are due, because their money may arrive late. */
const statement = `
select
  (select count(*)::int from core.payment_attempts a
   where a.merchant_id = ? and a.wallet_account_id = ?
     and (a.status in ('SENT', 'UNKNOWN') or a.due_at is not null)) as "openPayments",
  (select count(*)::int from core.stray_payments s
   join core.payment_attempts a on a.merchant_id = s.merchant_id and a.id = s.payment_attempt_id
   where a.merchant_id = ? and a.wallet_account_id = ? and s.status <> 'REVERSED' and s.settlement_id is null)
  + (select count(*)::int from core.refunds r
     join core.payment_attempts a on a.merchant_id = r.merchant_id and a.id = r.payment_attempt_id
     where a.merchant_id = ? and a.wallet_account_id = ? and r.status in ('AWAITING_APPROVAL', 'REVERSAL_DUE'))
    as "openReversals"`;

/** What still needs an account. The caller has locked the account, so that no payment begins with it meanwhile. */
export async function countUse(
  em: EntityManager,
  { merchantId, id }: { readonly merchantId: StoredId<'mer'>; readonly id: StoredId<'wac'> },
): Promise<AccountUse> {
  const [use] = await em.execute<AccountUse[]>(statement, [merchantId, id, merchantId, id, merchantId, id]);
  return use ?? { openPayments: 0, openReversals: 0 };
}
