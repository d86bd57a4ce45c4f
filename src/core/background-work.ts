import type { DatabaseClock } from '../platform/database/database-clock.ts';
import type { Logger } from '../platform/logger.ts';
import { createRepeatInTurn } from '../platform/repeat-every.ts';
import { sweepAccounts } from './accounts/sweep-accounts.ts';
import { analyzeNewTables } from './database/analyze-new-tables.ts';
import type { Database } from './database/database.ts';
import { createIndexTask } from './database/large-indexes.ts';
import type { PaymentGate } from './database/payment-gate.ts';
import { sweepExpired } from './database/sweep-expired.ts';
import { correctDueTimes } from './payments/correct-due-times.sql.ts';
import { expireOrders } from './payments/orders/expire-orders.ts';
import type { OrderChanges } from './payments/changes/change-orders.ts';
import type { ClaimPayments } from './payments/changes/claim-payments.ts';
import { keepBalances } from './reconciliation/keep-balances.ts';
import type { BalanceParts } from './reconciliation/keep-balances.ts';
import { scheduleReconciliations } from './reconciliation/schedule-reconciliations.ts';
import { deleteLeftEntries } from './reconciliation/statement-entries.sql.ts';
import { countEvents } from './reports/count-events.ts';
import { keepRequestDays } from './request-log/request-days.ts';

export interface BackgroundWorkParts extends BalanceParts {
  readonly database: Database;
  readonly clock: DatabaseClock;
  readonly changes: OrderChanges;
  readonly claims: Pick<ClaimPayments, 'claimFor' | 'find'>;
  readonly gate: Pick<PaymentGate, 'isOpen' | 'isOpenFor'>;
  /** Detects a restore, and continues a recovery. */
  readonly checkDatabase: () => Promise<unknown>;
  /** Adds committed events to the chains of their merchants. */
  readonly sealEvents: (stop: AbortSignal) => Promise<unknown>;
  /** Erases personal data that is due. */
  readonly eraseDue: (stop: AbortSignal) => Promise<unknown>;
  /** Records the payee accounts of own wallet accounts that have none yet. */
  readonly rememberPayees: () => Promise<unknown>;
  /** Encrypts own wallet accounts of other keys with the first key. */
  readonly resealAccounts: () => Promise<unknown>;
  readonly logger: Logger;
}

/** Starts the tasks that core runs by itself at intervals. Several cores may run them at the same time. Resolves when `stop` has ended all. */
export function startBackgroundWork(parts: BackgroundWorkParts, stop: AbortSignal): Promise<unknown> {
  const { database, clock, changes, machineNow, logger } = parts;
  const { pool } = database;
  const repeatInTurn = createRepeatInTurn();
  const every = (
    seconds: number,
    task: string,
    run: (stop: AbortSignal) => Promise<unknown>,
  ): Promise<void> => repeatInTurn({ task, intervalMs: seconds * 1000, logger, stop }, run);
  return Promise.all([
    // First, because a request of a day without a table is not logged.
    every(600, 'keeping the days of the request log', () =>
      keepRequestDays({ database, now: clock.now, machineNow }),
    ),
    every(1, 'expiring orders', (stopping) => expireOrders(changes, parts, stopping)),
    every(2, 'watching for a restore of the database', parts.checkDatabase),
    every(2, 'sealing events', parts.sealEvents),
    every(5, 'erasing personal data', parts.eraseDue),
    every(1, 'counting events', (stopping) => countEvents(database, stopping)),
    every(5, "reading the database's clock", clock.adjust),
    every(5, 'analyzing new tables', () => analyzeNewTables(pool)),
    every(60, 'removing ended sessions', (stopping) => sweepAccounts(pool, stopping)),
    every(60, 'removing expired idempotency keys', (stopping) =>
      sweepExpired(pool, [{ table: 'idempotency_keys', end: 'expires_at' }], stopping),
    ),
    every(60, 'correcting due times', (stopping) => correctDueTimes({ pool, logger }, stopping)),
    every(60, 'recording payee accounts', parts.rememberPayees),
    // Repeatedly: during a restart of several cores, one of the former settings can still add an account with an old key.
    every(60, 'encrypting wallet accounts with the first key', parts.resealAccounts),
    every(600, 'scheduling reconciliations', () => scheduleReconciliations(parts)),
    every(60, 'keeping balances', () => keepBalances(parts)),
    every(600, 'deleting statement entries', () => deleteLeftEntries(parts.database.pool)),
    // Last, because it takes long in a large database.
    every(60, 'creating large indexes', createIndexTask(database)),
  ]);
}
