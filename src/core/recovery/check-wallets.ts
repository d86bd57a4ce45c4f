import type { EntityManager } from '@mikro-orm/postgresql';
import {
  RecoveryStatementRow,
  RecoveryWalletRow,
  UnclaimedPaymentRow,
} from '../database/recovery-entities.ts';
import type { RecoveryRow } from '../database/recovery-entities.ts';
import type { Environment } from '../domain/order.ts';
import { datesOf, statementAfter, walletAfter } from '../domain/recovery.ts';
import {
  addStatements,
  haveMerchantsHadAccounts,
  readOwnAccounts,
  readStatementDays,
} from './recovery-statements.sql.ts';
import type { ReadDay } from './recovery-statements.sql.ts';

/** Starts the comparison of a statement's day with the records, unless a comparison is in progress. `payee` is empty for the operator's account. */
export type StartReconciliation = (
  key: { readonly wallet: string; readonly environment: Environment; readonly payee: string },
  date: string,
  startedBy: string,
) => Promise<unknown>;

/** The most days of statements that are read. A longer lost time needs an operator. */
const maxDays = 31;
/** The tolerated difference between a wallet's clock and ours. */
const clockToleranceMs = 15 * 60_000;

/** The days whose statements contain the lost time. */
const datesIn = ({ lostFrom, lostUntil }: RecoveryRow): readonly string[] | undefined =>
  datesOf(new Date(lostFrom.getTime() - clockToleranceMs), lostUntil, maxDays);

/**
 * Requests the statements of the lost time: the operator's of each wallet, and those of the merchants' own accounts there. A statement
 * counts only if it was read to its end after `from`, because every prompt of the lost time has ended by then. An environment opens after the
 * operator's statements are read. A merchant with own accounts is held until their statements are read too.
 */
export async function checkWallets(
  em: EntityManager,
  recovery: RecoveryRow,
  from: Date,
  start: StartReconciliation,
): Promise<void> {
  const open = await em.find(RecoveryWalletRow, { recoveryId: recovery.id, state: ['WAITING', 'READ'] });
  const checks = open.filter(({ obstacle }) => obstacle === '' || obstacle === 'own_accounts');
  if (checks.length === 0) return;
  const dates = datesIn(recovery);
  if (dates === undefined) {
    for (const check of checks.filter(({ state }) => state === 'WAITING'))
      Object.assign(check, { hasStatement: false, obstacle: 'too_long' });
    return em.flush();
  }
  await addStatements(em, recovery);
  const since = recovery.lostUntil;
  const read = await readStatementDays(em, recovery.id, dates, { since, until: from });
  const ownAccounts = await readOwnAccounts(em, recovery);
  const usesOwnAccounts = await haveMerchantsHadAccounts(em, recovery);
  const statements = await em.find(RecoveryStatementRow, { recoveryId: recovery.id });
  for (const check of checks) {
    const { wallet, environment } = check;
    const isHere = (each: { readonly wallet: string; readonly environment: Environment }): boolean =>
      each.wallet === wallet && each.environment === environment;
    const here = statements.filter(isHere);
    for (const statement of here) {
      if (statement.state === 'READ') continue;
      const days = read.filter((each) => isHere(each) && each.payee === statement.payee);
      await readOn(statement, days, start);
    }
    const operators = here.find(({ payee }) => payee === '');
    const after = walletAfter({
      stream: recovery.stream,
      statement: operators?.state ?? 'READING',
      usesOwnAccounts,
      areAccountsAccepted: recovery.accountsAcceptedBy !== '',
      hasUnnamedAccounts: ownAccounts.find(isHere)?.hasUnnamed === true,
    });
    if (check.state === 'WAITING') Object.assign(check, after);
    if (check.state === 'READ' || check.obstacle !== '')
      check.unclaimedPayments = await em.count(UnclaimedPaymentRow, {
        wallet,
        environment,
        foundAt: { $gte: recovery.lostUntil },
      });
  }
  await em.flush();
}

/** Records how far a statement is read, and starts its missing readings. */
async function readOn(
  statement: RecoveryStatementRow,
  days: readonly ReadDay[],
  start: StartReconciliation,
): Promise<void> {
  const { wallet, environment, payee } = statement;
  const isRemoved = days.some((day) => day.isRemoved);
  const state = statementAfter(days, isRemoved);
  const failed = days.find(({ isDone, isFailing }) => isFailing && !isDone);
  Object.assign(statement, { state, detail: state === 'FAILING' ? (failed?.detail ?? '') : '' });
  if (state === 'READ' || state === 'REMOVED') return;
  for (const { day, isDone, isOpen } of days)
    if (!isDone && !isOpen) await start({ wallet, environment, payee }, day, 'recovery');
}
