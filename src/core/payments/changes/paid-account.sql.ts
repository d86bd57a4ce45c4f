import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import type { PaymentAttemptRow } from '../../database/order-entities.ts';
import type { UnclaimedPaymentRow } from '../../database/recovery-entities.ts';

/**
 * The merchant's account with which a wallet is queried about money under one of the merchant's references. It is the account that new payments
 * use, otherwise the one that they used last. Null for the operator's account. Undefined when the merchant has no account with that payee.
 * Accounts of other merchants with the same payee are never taken. The account is locked, so that it is not removed meanwhile.
 */
export async function lockPaidAccount(
  em: EntityManager,
  merchantId: StoredId<'mer'>,
  { environment, wallet, payee }: Pick<UnclaimedPaymentRow, 'environment' | 'wallet' | 'payee'>,
): Promise<StoredId<'wac'> | null | undefined> {
  // A merchant's own account may have the operator's payee. Then only the current one counts, because a retired one is older than the payment.
  const [found] = await em.execute<{ id: StoredId<'wac'> }[]>(
    `
select a.id
from core.wallet_accounts a
join core.payee_accounts p on p.merchant_id = a.merchant_id and p.wallet_account_id = a.id
where a.merchant_id = ? and a.environment = ?::core.environment and a.wallet = ? and p.payee = ?
  and (p.payee <> '' or a.state = 'CURRENT')
order by array_position(array['CURRENT', 'RETIRED', 'NEXT'], a.state), a.promoted_at desc nulls last, a.id desc
limit 1
for share of a`,
    [merchantId, environment, wallet, payee],
  );
  return found?.id ?? (payee === '' ? null : undefined);
}

/** The payee account of an attempt: empty for the operator's, undefined when nothing is known of its account. */
export async function payeeOf(
  em: EntityManager,
  { merchantId, walletAccountId }: Pick<PaymentAttemptRow, 'merchantId' | 'walletAccountId'>,
): Promise<string | undefined> {
  if (walletAccountId == null) return '';
  const [row] = await em.execute<{ payee: string }[]>(
    'select payee from core.payee_accounts where merchant_id = ? and wallet_account_id = ?',
    [merchantId, walletAccountId],
  );
  return row?.payee;
}
