import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { optionsOfWallet } from '../../contract/payment-option.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Wallet } from '../domain/wallet.ts';
import type { WalletScope } from './known-money.sql.ts';
import type { StatementKey } from './statement-key.ts';

/** The payee of accounts that were removed before Gatehouse kept payees. See migration 043. */
const removedPayee = 'removed account';

/** A payee account of merchants at a wallet. */
export interface OwnPayee extends StatementKey {
  /** Whether every account with its credentials was removed, so that its statement cannot be read. */
  readonly is_removed: boolean;
}

/** The payee accounts of merchants, without the operator's. Several merchants and several sets of credentials may share one. */
export const readOwnPayees = (pool: Pool): Promise<OwnPayee[]> =>
  runStatement<OwnPayee>(pool, {
    text: `
select p.environment, p.wallet, p.payee, bool_and(a.id is null) as is_removed
from core.payee_accounts p
left join core.wallet_accounts a on a.merchant_id = p.merchant_id and a.id = p.wallet_account_id
where p.payee <> ''
group by p.environment, p.wallet, p.payee
order by p.environment, p.wallet, p.payee`,
    values: [],
  });

/** In SQL: the days, in UTC, on which the stray payments of a payee account were found. More conditions may follow. */
export const strayDays = `
select distinct s.environment, regexp_replace(s.payment_option, '_[a-z]+$', '') as wallet, of_account.payee,
  (s.created_at at time zone 'UTC')::date as day
from core.stray_payments s
left join core.payment_attempts a on a.merchant_id = s.merchant_id and a.id = s.payment_attempt_id
left join core.payee_accounts p on p.merchant_id = a.merchant_id and p.wallet_account_id = a.wallet_account_id
cross join lateral (select case when a.wallet_account_id is null then '' else p.payee end as payee) of_account
where of_account.payee is not null`;

/** The statements that Gatehouse can read: the operator's of each wallet and environment, and those of merchants' own accounts. */
export async function readStatements(pool: Pool, wallets: readonly Wallet[]): Promise<StatementKey[]> {
  const ownPayees = await readOwnPayees(pool);
  return wallets
    .filter(({ reconcile }) => reconcile)
    .flatMap(({ id: wallet, environments }) =>
      environments.flatMap((environment) => [
        { wallet, environment, payee: '' },
        ...ownPayees
          .filter((each) => each.wallet === wallet && each.environment === environment && !each.is_removed)
          .map(({ payee }) => ({ wallet, environment, payee })),
      ]),
    );
}

/** The credentials with which a statement of a merchant's own account is read. */
export interface StatementCredentials {
  readonly merchant_id: StoredId<'mer'>;
  readonly wallet_account_id: StoredId<'wac'>;
}

/**
 * The credentials that new payments use, or else the latest that did; undefined if all were removed. Several merchants may name one payee, and the
 * wallet may refuse it to some of them. So the first merchant that named it comes first, and each try takes the next merchant.
 */
export async function findCredentials(
  em: EntityManager,
  { wallet, environment, payee }: StatementKey,
  earlierTries: number,
): Promise<StatementCredentials | undefined> {
  const found = await em.execute<StatementCredentials[]>(
    `
select merchant_id, wallet_account_id
from (
  select distinct on (p.merchant_id) p.merchant_id, p.wallet_account_id, standing, named.first_account
  from core.payee_accounts p
  join core.wallet_accounts a on a.merchant_id = p.merchant_id and a.id = p.wallet_account_id
  cross join lateral array_position(array['CURRENT', 'RETIRED', 'NEXT'], a.state) standing
  cross join lateral (
    select each.wallet_account_id as first_account from core.payee_accounts each
    where (each.merchant_id, each.environment, each.wallet, each.payee) = (p.merchant_id, p.environment, p.wallet, p.payee)
    order by each.wallet_account_id limit 1
  ) named
  where p.environment = ?::core.environment and p.wallet = ? and p.payee = ?
  order by p.merchant_id, standing, a.promoted_at desc nulls last, a.id desc
) of_merchants
order by standing, first_account`,
    [environment, wallet, payee],
  );
  return found[earlierTries % Math.max(found.length, 1)];
}

/** Which records belong to a statement. */
export async function readScope(
  em: EntityManager,
  { wallet, environment, payee }: StatementKey,
): Promise<WalletScope> {
  const known = await em.execute<{ wallet_account_id: string; payee: string }[]>(
    'select wallet_account_id, payee from core.payee_accounts where environment = ?::core.environment and wallet = ?',
    [environment, wallet],
  );
  const accountsOf = (isWanted: (each: string) => boolean): string[] =>
    known.filter((each) => isWanted(each.payee)).map((each) => each.wallet_account_id);
  return {
    environment,
    options: optionsOfWallet(wallet),
    isOperators: payee === '',
    accounts: accountsOf((each) => each === payee),
    otherAccounts: accountsOf((each) => each !== payee && each !== removedPayee),
  };
}
