import { type Result, err, ok } from './result.ts';

/*
 * A merchant's own account at a wallet: its credentials, its payee account, or both. The values of an account never change.
 * New values are a new account:
 *
 *            promote               promote another, or retire
 *   NEXT ──────────────▶ CURRENT ◀────────────────────────────▶ RETIRED
 *                                    promote again
 *
 * A payment keeps the account with which it began. So a retired account remains until no payment and no reversal needs it.
 */

/** NEXT: no payment uses it. CURRENT: new payments begin with it. RETIRED: only payments that began with it use it. */
export type WalletAccountState = 'NEXT' | 'CURRENT' | 'RETIRED';

/** The provider's answer to the credentials. WAITING: not asked since the last request for a check. */
export type WalletAccountCheck = 'WAITING' | 'ACCEPTED' | 'REFUSED' | 'UNKNOWN';

export interface WalletAccountStanding {
  readonly state: WalletAccountState;
  readonly checkResult: WalletAccountCheck;
}

/** Payments and reversals that would fail without the account. */
export interface AccountUse {
  /** Attempts that may still take money, or that are still queried. */
  readonly openPayments: number;
  /** Stray payments of this account that are not back with the payer, and refunds of its payments that are not decided. */
  readonly openReversals: number;
}

/** The state of an account that new payments are to use. The provider must have accepted its credentials. */
export function promoteAccount({
  state,
  checkResult,
}: WalletAccountStanding): Result<WalletAccountState, 'not_checked'> {
  return state === 'CURRENT' || checkResult === 'ACCEPTED' ? ok('CURRENT') : err('not_checked');
}

/** The state of an account that new payments are no longer to use. */
export const retireAccount = ({ state }: WalletAccountStanding): Result<WalletAccountState, 'not_current'> =>
  state === 'NEXT' ? err('not_current') : ok('RETIRED');

/** Whether an account may be removed with its secrets: never the current one, and none that money depends on. */
export function removeAccount(
  { state }: WalletAccountStanding,
  { openPayments, openReversals }: AccountUse,
): Result<null, 'is_current' | 'has_open_use'> {
  if (state === 'CURRENT') return err('is_current');
  return openPayments + openReversals > 0 ? err('has_open_use') : ok(null);
}
