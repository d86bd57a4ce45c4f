import type { Database } from '../database/database.ts';
import { storedId } from '../../contract/public-id.ts';
import type { NewId } from '../../contract/public-id.ts';
import type { Environment, PaymentOption } from '../domain/order.ts';
import { insertReconciliation } from './insert-reconciliation.sql.ts';
import { dateOf } from './reconciliation-day.ts';
import { walletOfOption } from '../../contract/payment-options.ts';

/** How long after midnight, UTC, a wallet is trusted to have written the day down. */
const settleMs = 60 * 60_000;
const dayMs = 24 * 60 * 60_000;
const mostDays = 7;

export interface ScheduleParts {
  readonly database: Database;
  readonly offeredOptions: Readonly<Record<Environment, readonly PaymentOption[]>>;
  readonly newId: NewId;
  readonly now: () => Date;
  /** Called when one became due. */
  readonly onDue: () => void;
}

/**
 * Starts a reconciliation of every wallet and environment for each of the last seven days that was not scheduled yet,
 * yesterday's from an hour after midnight, UTC. Any number of cores may do this at once. Gives how many were started.
 */
export async function scheduleReconciliations(parts: ScheduleParts): Promise<number> {
  const { database, offeredOptions, newId, now, onDue } = parts;
  const at = now();
  let started = 0;
  for (const environment of ['SANDBOX', 'PRODUCTION'] as const) {
    for (const wallet of new Set(offeredOptions[environment].map(walletOfOption))) {
      for (let daysAgo = mostDays; daysAgo >= 1; daysAgo -= 1) {
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
