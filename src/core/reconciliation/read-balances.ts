import type { Database } from '../database/database.ts';
import type { Wallet } from '../domain/wallet.ts';
import { readMissingDays } from './missing-days.sql.ts';
import type { MissingDay, MissingDayFilter } from './missing-days.sql.ts';
import { readStatements } from './payee-accounts.sql.ts';
import type { StatementKey } from './statement-key.ts';
import { readMoneyDays } from './money-days.sql.ts';
import type { MoneyDayFilter, StoredMoneyDay } from './money-days.sql.ts';

/** The balances of days, and the days without one. */
export interface BalanceReader {
  readonly moneyDays: (filter: MoneyDayFilter) => Promise<readonly StoredMoneyDay[]>;
  readonly missingDays: (filter: MissingDayFilter) => Promise<readonly MissingDay[]>;
  /** The statements that can be read. */
  readonly statements: () => Promise<readonly StatementKey[]>;
}

export const createBalanceReader = (
  { pool }: Pick<Database, 'pool'>,
  wallets: readonly Wallet[],
  now: () => Date,
): BalanceReader => ({
  moneyDays: (filter) => readMoneyDays(pool, filter),
  missingDays: (filter) => readMissingDays(pool, wallets, filter, now()),
  statements: () => readStatements(pool, wallets),
});
