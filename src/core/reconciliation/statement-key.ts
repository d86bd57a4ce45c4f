import type { Environment } from '../domain/order.ts';

/** Whose statement is read: that of one payee account at a wallet. */
export interface StatementKey {
  /** The wallet's id. */
  readonly wallet: string;
  readonly environment: Environment;
  /** The name of a merchant's own payee account, such as `accountid 3001`; empty for the operator's. */
  readonly payee: string;
}

/**
 * The text in the column `wallet` of a reconciliation and of a balance. It is the wallet's id alone for the operator's account. A core of
 * release 0.1.0 looks for that id, so it never reads or replaces anything of an own account.
 */
export const statementName = ({ wallet, payee }: Pick<StatementKey, 'wallet' | 'payee'>): string =>
  payee === '' ? wallet : `${wallet}/${payee}`;

/** The wallet and the payee account in a stored name. A wallet's id contains no slash. */
export function readStatementName(name: string): Pick<StatementKey, 'wallet' | 'payee'> {
  const slash = name.indexOf('/');
  return slash < 0
    ? { wallet: name, payee: '' }
    : { wallet: name.slice(0, slash), payee: name.slice(slash + 1) };
}
