import { type Result, err, ok } from './result.ts';

/*
 * A reconciliation run reads a wallet's statement of one day and compares it with the recorded payments.
 *
 *                   makeRunDue: due now
 *                     ┌──┐
 *                     ▼  │      leaseRun                       completeRun
 *   beginRun ──────▶ WAITING ───────────▶ RUNNING ───────────────────────▶ COMPLETED
 *                       ▲                 │ │  ▲ recordPage, beginComparison: the lease is renewed
 *                       │    failRun      │ │  │ leaseRun, once the lease has expired: the statement is read again
 *                       └─────────────────┘ │
 *                                           └────────────────────────────▶ FAILED
 *                                            failRun, after the last try; leaseRun, when the lease of the last try has expired
 *
 * COMPLETED and FAILED are final. Only the holder of the latest lease adds pages and ends the run. A lease that expired
 * stays valid until another worker leases the run.
 */

/** The period of the statement that is read. */
export interface StatementPeriod {
  readonly from: Date;
  readonly to: Date;
}

interface Progress {
  /** How often a worker has begun to read the statement. */
  readonly tries: number;
  /** Entries of the statement in the latest reading. */
  readonly entries: number;
  /** Entries that are neither payments nor reversals. */
  readonly otherEntries: number;
  /** 0 until COMPLETED. */
  readonly differences: number;
  /** Why the statement could not be read or compared; empty without a failure. */
  readonly detail: string;
  /** The length of a lease. Each page renews it. */
  readonly leaseMs: number;
  /** The period of the latest reading; null before the first. */
  readonly period: StatementPeriod | null;
  readonly updatedAt: Date;
}

export interface WaitingRun extends Progress {
  readonly status: 'WAITING';
  /** When a worker may read the statement. */
  readonly dueAt: Date;
}

export interface RunningRun extends Progress {
  readonly status: 'RUNNING';
  readonly leaseId: string;
  /** The expiry of the lease. Afterwards another worker may read the statement from its beginning. */
  readonly dueAt: Date;
  readonly period: StatementPeriod;
}

export interface CompletedRun extends Progress {
  readonly status: 'COMPLETED';
}

/** The statement could not be read or compared, and there are no more tries. */
export interface FailedRun extends Progress {
  readonly status: 'FAILED';
}

export type ReconciliationRun = WaitingRun | RunningRun | CompletedRun | FailedRun;

/** The minutes to wait after each failed try. The run fails after one more try than there are values. */
const retryMinutes = [1, 5, 15, 60, 180, 360];

/** A run that is due at once. */
export const beginRun = (now: Date): WaitingRun => ({
  status: 'WAITING',
  tries: 0,
  entries: 0,
  otherEntries: 0,
  differences: 0,
  detail: '',
  leaseMs: 0,
  period: null,
  dueAt: now,
  updatedAt: now,
});

/**
 * Handles a manual start of an existing run: a waiting run becomes due now, and a running one continues. Rejection: `ended`
 * when the run is final, so that a new one is needed.
 */
export function makeRunDue(run: ReconciliationRun, now: Date): Result<WaitingRun | RunningRun, 'ended'> {
  if (run.status === 'WAITING') return ok({ ...run, dueAt: now });
  return run.status === 'RUNNING' ? ok(run) : err('ended');
}

/**
 * Leases the run to a worker until `leaseMs` from now, to read the statement of the period from its beginning. If the lease of
 * the last try has expired, the run fails instead. Rejection: `not_due` when the run is final, early or leased.
 */
export function leaseRun(
  run: ReconciliationRun,
  { leaseId, leaseMs, period }: Pick<RunningRun, 'leaseId' | 'leaseMs' | 'period'>,
  now: Date,
): Result<RunningRun | FailedRun, 'not_due'> {
  if (!('dueAt' in run) || run.dueAt > now) return err('not_due');
  if (run.status === 'RUNNING' && isLastTry(run)) return ok(failedRun(run, lastTryLost, now));
  return ok({
    ...run,
    status: 'RUNNING',
    leaseId,
    leaseMs,
    period,
    dueAt: leaseEnd(leaseMs, now),
    tries: run.tries + 1,
    entries: 0,
    otherEntries: 0,
    updatedAt: now,
  });
}

/** The run, for the holder of its lease. Rejection: `lease_lost` when the run has ended or another worker leased it. */
export const runUnderLease = (run: ReconciliationRun, leaseId: string): Result<RunningRun, 'lease_lost'> =>
  run.status === 'RUNNING' && run.leaseId === leaseId ? ok(run) : err('lease_lost');

/** Counts the new entries of a page, and renews the lease. */
export const recordPage = (
  run: RunningRun,
  added: Pick<Progress, 'entries' | 'otherEntries'>,
  now: Date,
): RunningRun => ({
  ...run,
  entries: run.entries + added.entries,
  otherEntries: run.otherEntries + added.otherEntries,
  dueAt: leaseEnd(run.leaseMs, now),
  updatedAt: now,
});

/** The lease of a comparison, which cannot renew it. A comparison reads every payment of a day. The largest statements take some minutes. */
const comparisonMs = 10 * 60_000;

/** Keeps the lease while the statement is compared. */
export const beginComparison = (run: RunningRun, now: Date): RunningRun => ({
  ...run,
  dueAt: leaseEnd(Math.max(run.leaseMs, comparisonMs), now),
  updatedAt: now,
});

/** Completes the run, after the whole statement was read and compared. `detail` says what was not compared. */
export const completeRun = (run: RunningRun, differences: number, now: Date, detail = ''): CompletedRun => ({
  ...progressOf(run),
  status: 'COMPLETED',
  differences,
  detail,
  updatedAt: now,
});

/** Records that the statement could not be read or compared. The run waits for its next try, or fails after the last one. */
export function failRun(run: RunningRun, detail: string, now: Date): WaitingRun | FailedRun {
  const minutes = retryMinutes[run.tries - 1];
  if (minutes === undefined) return failedRun(run, detail, now);
  const dueAt = new Date(now.getTime() + minutes * 60_000);
  return { ...progressOf(run), status: 'WAITING', detail, dueAt, updatedAt: now };
}

const isLastTry = ({ tries }: RunningRun): boolean => retryMinutes[tries - 1] === undefined;

const lastTryLost = 'the last try did not end: core or the wallets process stopped meanwhile';

const failedRun = (run: RunningRun, detail: string, now: Date): FailedRun => ({
  ...progressOf(run),
  status: 'FAILED',
  detail,
  updatedAt: now,
});

const leaseEnd = (leaseMs: number, now: Date): Date => new Date(now.getTime() + leaseMs);

/** The fields that every state has. */
const progressOf = (run: Progress): Progress => ({
  tries: run.tries,
  entries: run.entries,
  otherEntries: run.otherEntries,
  differences: run.differences,
  detail: run.detail,
  leaseMs: run.leaseMs,
  period: run.period,
  updatedAt: run.updatedAt,
});
