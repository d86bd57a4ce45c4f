import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../contract/public-id.ts';
import type { Environment } from '../domain/order.ts';
import type { AccountChange } from '../events/account-changes.ts';

/** The condition that the account `asked` was never in this database. The payee of an account remains after the account is removed. */
const accountNeverStored = `not exists (
  select from core.payee_accounts p where p.merchant_id = asked.merchant_id and p.wallet_account_id = asked.id
) and not exists (
  select from core.wallet_accounts a where a.merchant_id = asked.merchant_id and a.id = asked.id
)`;

/** Stores the accounts that the stream names and this database never had. A repeat changes nothing. */
export async function keepLostAccounts(
  em: EntityManager,
  recoveryId: string,
  changes: readonly AccountChange[],
): Promise<void> {
  for (const { merchantId, environment, wallet, walletAccountId, payee, changedAt } of changes) {
    if (walletAccountId === null) continue;
    await em.execute(
      `
insert into core.recovery_accounts (recovery_id, merchant_id, wallet_account_id, environment, wallet, payee, promoted_at)
select ?, asked.merchant_id, asked.id, ?::core.environment, ?, ?, ?
from (select ?::uuid as merchant_id, ?::uuid as id) asked
where ${accountNeverStored}
on conflict (recovery_id, merchant_id, wallet_account_id) do update
  set payee = coalesce(excluded.payee, recovery_accounts.payee),
    promoted_at = greatest(excluded.promoted_at, recovery_accounts.promoted_at)`,
      [recoveryId, environment, wallet, payee, changedAt.toISOString(), merchantId, walletAccountId],
    );
  }
}

/** The rebuilt orders whose payments one statement reads. */
const pageSize = 5_000;
const noId = '00000000-0000-0000-0000-000000000000';

/**
 * Stores the accounts that only payments of rebuilt orders name. A stream of this version also has the changes of these accounts. A stream of
 * an earlier version does not. Reads the payments of rebuilt orders only, in pages, because there may be millions.
 */
export async function keepPaidAccounts(em: EntityManager, recoveryId: string): Promise<void> {
  let last: RebuiltOrder | undefined = { merchantId: noId, orderId: noId };
  while (last !== undefined) last = await keepPageOfAccounts(em, recoveryId, last);
}

interface RebuiltOrder {
  readonly merchantId: string;
  readonly orderId: string;
}

/** Returns the last order of the page; undefined when there is none. */
async function keepPageOfAccounts(
  em: EntityManager,
  recoveryId: string,
  after: RebuiltOrder,
): Promise<RebuiltOrder | undefined> {
  const [last] = await em.execute<RebuiltOrder[]>(
    `
with page as materialized (
  select merchant_id, order_id from core.recovered_orders
  where (merchant_id, order_id) > (?::uuid, ?::uuid)
  order by merchant_id, order_id limit ${pageSize}
), kept as (
  insert into core.recovery_accounts (recovery_id, merchant_id, wallet_account_id, environment, wallet)
  select distinct on (asked.merchant_id, asked.id)
    ?::uuid, asked.merchant_id, asked.id, asked.environment, regexp_replace(asked.payment_option, '_[a-z]+$', '')
  from (
    select p.merchant_id, p.wallet_account_id as id, p.environment, p.payment_option
    from page o
    join core.payment_attempts p on p.merchant_id = o.merchant_id and p.order_id = o.order_id
    where p.wallet_account_id is not null
  ) asked
  where ${accountNeverStored}
  on conflict do nothing
)
select merchant_id as "merchantId", order_id as "orderId" from page order by merchant_id desc, order_id desc limit 1`,
    [after.merchantId, after.orderId, recoveryId],
  );
  return last;
}

/** An account that was in use in the lost time, and whose credentials were not entered again. */
export interface MissingAccount {
  readonly merchantId: StoredId<'mer'>;
  readonly walletAccountId: StoredId<'wac'>;
  readonly environment: Environment;
  readonly wallet: string;
  /** Empty for the operator's; null when it is not known. */
  readonly payee: string | null;
}

/** The newest first. */
export const readMissingAccounts = (em: EntityManager, recoveryId: string): Promise<MissingAccount[]> =>
  em.execute<MissingAccount[]>(
    `
select r.merchant_id as "merchantId", r.wallet_account_id as "walletAccountId", r.environment, r.wallet, r.payee
from core.recovery_accounts r
where r.recovery_id = ? and not exists (
  select from core.wallet_accounts a where a.merchant_id = r.merchant_id and a.id = r.wallet_account_id
)
order by r.environment, r.wallet, r.promoted_at desc nulls last, r.wallet_account_id`,
    [recoveryId],
  );

/** An account that was added since the restore, and whose credentials the provider has not accepted. Its statement is not read. */
export interface UnacceptedAccount {
  readonly merchantId: StoredId<'mer'>;
  readonly walletAccountId: StoredId<'wac'>;
  readonly wallet: string;
}

export const readUnacceptedAccounts = (em: EntityManager, restoredAt: Date): Promise<UnacceptedAccount[]> =>
  em.execute<UnacceptedAccount[]>(
    `
select a.merchant_id as "merchantId", a.id as "walletAccountId", a.wallet
from core.wallet_accounts a
where a.state = 'NEXT' and a.check_result <> 'ACCEPTED' and a.created_at >= ?
order by a.created_at`,
    [restoredAt.toISOString()],
  );
