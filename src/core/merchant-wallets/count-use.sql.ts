import type { EntityManager } from '@mikro-orm/postgresql';
import { optionsOfWallet } from '../../contract/payment-option.ts';
import type { WalletAccountRow } from '../database/wallet-account-entity.ts';
import type { AccountUse } from '../domain/wallet-account.ts';

/**
 * Attempts that have ended are still queried while they are due, because their money may arrive late. Reads the indexes of open work: an
 * account may have millions of payments, and the lock of the caller's transaction delays events.
 */
const statement = `
select
  (select count(*)::int from core.payment_attempts
   where environment = ?::core.environment and payment_option = any(?::text[]) and due_at is not null
     and merchant_id = ? and wallet_account_id = ?) as "openPayments",
  (select count(*)::int from (
     select merchant_id, payment_attempt_id from core.stray_payments
     where merchant_id = ? and status <> 'REVERSED' and settlement_id is null
     union all
     select merchant_id, payment_attempt_id from core.refunds
     where environment = ?::core.environment and payment_option = any(?::text[]) and due_at is not null and merchant_id = ?
     union all
     select merchant_id, payment_attempt_id from core.refunds
     where merchant_id = ? and environment = ?::core.environment and status = 'AWAITING_APPROVAL'
   ) open
   join core.payment_attempts a on a.merchant_id = open.merchant_id and a.id = open.payment_attempt_id
   where a.wallet_account_id = ?) as "openReversals"`;

/** Counts the payments and reversals that still need an account. The caller has locked the account, so that no payment begins with it meanwhile. */
export async function countUse(
  em: EntityManager,
  {
    merchantId,
    id,
    environment,
    wallet,
  }: Pick<WalletAccountRow, 'merchantId' | 'id' | 'environment' | 'wallet'>,
): Promise<AccountUse> {
  const options = `{${optionsOfWallet(wallet).join(',')}}`;
  const [use] = await em.execute<AccountUse[]>(statement, [
    environment,
    options,
    merchantId,
    id,
    merchantId,
    environment,
    options,
    merchantId,
    merchantId,
    environment,
    id,
  ]);
  return use ?? { openPayments: 0, openReversals: 0 };
}
