import type { ReconciliationRow } from '../database/reconciliation-entities.ts';
import type { ReconciliationRun } from '../domain/reconciliation-run.ts';

type RunColumns = Pick<
  ReconciliationRow,
  | 'status'
  | 'dueAt'
  | 'leaseId'
  | 'leaseMs'
  | 'periodFrom'
  | 'periodTo'
  | 'tries'
  | 'entries'
  | 'otherEntries'
  | 'differences'
  | 'detail'
  | 'updatedAt'
>;

/** The run in a reconciliation's row. Throws TypeError for a row with an impossible state. */
export function runOf(row: RunColumns): ReconciliationRun {
  const { status, dueAt, leaseId, periodFrom, periodTo } = row;
  const { tries, entries, otherEntries, differences, detail, leaseMs, updatedAt } = row;
  const period = periodFrom == null || periodTo == null ? null : { from: periodFrom, to: periodTo };
  const progress = { tries, entries, otherEntries, differences, detail, leaseMs, period, updatedAt };
  if (status === 'COMPLETED' || status === 'FAILED') return { ...progress, status };
  if (dueAt == null) throw new TypeError(`the row is ${status} and has no due_at`);
  if (status === 'WAITING') return { ...progress, status, dueAt };
  if (leaseId == null || period === null)
    throw new TypeError('the row is RUNNING and has no lease or period');
  return { ...progress, status, dueAt, leaseId, period };
}

export function runColumns(run: ReconciliationRun): RunColumns {
  const { status, tries, entries, otherEntries, differences, detail, leaseMs, period, updatedAt } = run;
  return {
    status,
    tries,
    entries,
    otherEntries,
    differences,
    detail,
    leaseMs,
    updatedAt,
    dueAt: 'dueAt' in run ? run.dueAt : null,
    leaseId: run.status === 'RUNNING' ? run.leaseId : null,
    periodFrom: period?.from ?? null,
    periodTo: period?.to ?? null,
  };
}
