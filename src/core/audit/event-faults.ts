import type { Finding, LostTime, VerifySummary } from './audit-finding.ts';
import type { AuditedRow } from './audited-events.sql.ts';
import type { IsErased } from './erasure-seal.ts';
import { commitmentOf, isSame } from './event-commitment.ts';
import type { CommittedEvent } from './event-commitment.ts';
import { committedEventOf } from './seal-events.ts';

export type EventFault = Pick<Finding, 'kind' | 'sequence' | 'block' | 'isExplained'>;

export interface FaultParts {
  readonly merchantId: string;
  readonly isErased: IsErased;
  readonly lost: readonly LostTime[];
  readonly summary: VerifySummary;
}

/** Each stored event once, although a restore may have sealed it twice. */
export const eventsOf = (rows: readonly AuditedRow[], merchantId: string): CommittedEvent[] =>
  rows.flatMap((row, index) =>
    row.id === null || rows[index - 1]?.sequence === row.sequence ? [] : [eventOf(row, row.id, merchantId)],
  );

const eventOf = (row: AuditedRow, id: string, merchantId: string): CommittedEvent =>
  committedEventOf({ ...row, id, merchant_id: merchantId });

/**
 * Compares the events of one order with their entries in the chain, and adds them to the summary. Call the returned function with all rows,
 * by sequence. They may come in any number of calls. It keeps none of them.
 */
export function createFindFaults({ merchantId, isErased, lost, summary }: FaultParts) {
  let next = 1;
  let previousTime: Date | undefined;
  return function* findFaults(rows: readonly AuditedRow[]): Generator<EventFault> {
    for (const row of rows) {
      const { sequence } = row;
      if (next < sequence) {
        const isExplained = isWithin(lost, previousTime, row.id === null ? undefined : row.occurred_at);
        yield { kind: 'EVENT_DELETED', sequence: next, isExplained };
      }
      next = sequence + 1;
      if (row.id === null) {
        yield { kind: 'EVENT_DELETED', sequence, block: BigInt(row.number ?? 0) };
        continue;
      }
      previousTime = row.occurred_at;
      if (row.number === null || row.salt === null || row.commitment === null) {
        if (row.is_passed) yield { kind: 'EVENT_NOT_SEALED', sequence };
        else summary.waiting += 1;
      } else if (isSame(commitmentOf(row.salt, eventOf(row, row.id, merchantId)), row.commitment))
        summary.events += 1;
      else if (isErased(sequence)) summary.erased += 1;
      else yield { kind: 'EVENT_CHANGED', sequence, block: BigInt(row.number) };
    }
  };
}

/** Whether events between two others may have been lost with the database. */
const isWithin = (lost: readonly LostTime[], after: Date | undefined, before: Date | undefined): boolean =>
  lost.some(
    ({ from, until }) => (after === undefined || after <= until) && before !== undefined && before >= from,
  );
