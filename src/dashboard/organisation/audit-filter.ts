import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { dayNamed, isEmptySpan } from '../local-time.ts';
import { queryOf, textIn } from '../page-query.ts';
import { auditKinds } from '../../contract/audit-kinds.ts';
import type { AuditKind } from '../../contract/audit-kinds.ts';

/** The filter of the audit log, from the page's query. */
export interface AuditFilter {
  readonly kind: AuditKind | '';
  /** Days such as 2026-01-31, or ''. */
  readonly from: string;
  readonly to: string;
  readonly page: string;
  readonly isEmpty: boolean;
  /** Whether the last day is before the first, so that nothing can match. */
  readonly isEmptySpan: boolean;
}

/** Reads a query. Invalid values are ignored, and the form shows them as empty. */
export function readAuditFilter(query: unknown, timeZone: string): AuditFilter {
  const text = (name: string): string => textIn(query, name);
  const dayOf = (name: string): string => (dayNamed(text(name), timeZone) === undefined ? '' : text(name));
  const kind = auditKinds.find((known) => known === text('kind')) ?? '';
  const [from, to] = [dayOf('from'), dayOf('to')];
  return {
    kind,
    from,
    to,
    page: text('page'),
    isEmpty: kind === '' && from === '' && to === '',
    isEmptySpan: isEmptySpan(dayNamed(from, timeZone)?.from, dayNamed(to, timeZone)?.to),
  };
}

/** The query of a page with the filter. */
export const auditQuery = ({ kind, from, to }: AuditFilter, page: string): string =>
  queryOf({ kind, from, to, page });

/** The filter's days as times of a request: from the beginning of the first to the end of the last. */
export function auditTimes(
  { from, to }: AuditFilter,
  timeZone: string,
): { readonly fromTime?: Timestamp; readonly toTime?: Timestamp } {
  const [first, last] = [dayNamed(from, timeZone), dayNamed(to, timeZone)];
  return {
    ...(first === undefined ? {} : { fromTime: timestampFromDate(first.from) }),
    ...(last === undefined ? {} : { toTime: timestampFromDate(last.to) }),
  };
}
