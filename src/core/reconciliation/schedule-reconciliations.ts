import type { Database } from '../database/database.ts';
import { storedId } from '../../contract/public-id.ts';
import type { NewId } from '../../contract/public-id.ts';
import type { Wallet } from '../domain/wallet.ts';
import { insertReconciliation } from './insert-reconciliation.sql.ts';
import { dateOf } from './reconciliation-day.ts';

/** How long after midnight, UTC, a wallet's statement of the day counts as complete. */
const settleMs = 60 * 60_000;
const dayMs = 24 * 60 * 60_000;
const maxDays = 7;

export interface ScheduleParts {
  readonly database: Database;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  readonly now: () => Date;
  /** Called when a reconciliation became due. */
  readonly onDue: () => void;
}

/**
 * Starts the missing reconciliations of the last seven days, for every environment of each wallet with a statement. Yesterday's starts an
 * hour after midnight, UTC. Several cores may run this concurrently. Returns the number of started ones.
 */
export async function scheduleReconciliations(parts: ScheduleParts): Promise<number> {
  const { database, wallets, newId, now, onDue } = parts;
  const at = now();
  let started = 0;
  for (const { id: wallet, environments } of wallets.filter(({ reconcile }) => reconcile)) {
    for (const environment of environments) {
      for (let daysAgo = maxDays; daysAgo >= 1; daysAgo -= 1) {
        const date = dateOf(new Date(at.getTime() - settleMs - daysAgo * dayMs));
        const id = storedId('rec', newId('rec', at));
        const made = { id, wallet, environment, date, scheduled: true, startedBy: 'core', at };
        if (await insertReconciliation(database, made)) started += 1;
      }
    }
  }
  if (started > 0) onDue();
  return started;
}
