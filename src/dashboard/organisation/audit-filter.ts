import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { auditKinds } from './audit-sentences.ts';
import type { AuditKind } from './audit-sentences.ts';

/** What an audit log is narrowed down to, as the page's address says it. */
export interface AuditFilter {
  readonly kind: AuditKind | '';
  /** Days such as 2026-01-31, or ''. */
  readonly from: string;
  readonly to: string;
  readonly page: string;
  readonly isEmpty: boolean;
}

const day = /^\d{4}-\d\d-\d\d$/;
const dayMs = 24 * 60 * 60_000;

/** Reads a query; what makes no sense counts as left out, and the form shows that it does. */
export function readAuditFilter(query: unknown): AuditFilter {
  const sent = new Map(Object.entries(typeof query === 'object' && query !== null ? query : {}));
  const text = (name: string): string => {
    const value: unknown = sent.get(name);
    return typeof value === 'string' ? value : '';
  };
  const dayOf = (name: string): string =>
    day.test(text(name)) && !Number.isNaN(Date.parse(text(name))) ? text(name) : '';
  const kind = auditKinds.find((known) => known === text('kind')) ?? '';
  const [from, to] = [dayOf('from'), dayOf('to')];
  return { kind, from, to, page: text('page'), isEmpty: kind === '' && from === '' && to === '' };
}

/** The filter as the address of a page says it. */
export function auditQuery({ kind, from, to }: AuditFilter, page: string): string {
  const query = new URLSearchParams(
    Object.entries({ kind, from, to, page }).filter(([, value]) => value !== ''),
  );
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/** The moment a day begins in a time zone. */
export function dayStart(text: string, timeZone: string): Date {
  const asUtc = Date.parse(text);
  // Twice, for a day on which the clocks are set: the offset that counts is the one at the day's own beginning.
  const first = asUtc - offsetMs(asUtc, timeZone);
  return new Date(asUtc - offsetMs(first, timeZone));
}

function offsetMs(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const of = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((part) => part.type === type)?.value ?? 0);
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) - at;
}

/** The filter's days as an RPC takes them: from the beginning of the first to the end of the last. */
export function auditTimes(
  { from, to }: AuditFilter,
  timeZone: string,
): { readonly fromTime?: Timestamp; readonly toTime?: Timestamp } {
  const dayAfter = (text: string): string =>
    new Date(Date.parse(text) + dayMs).toISOString().slice(0, 'yyyy-mm-dd'.length);
  return {
    ...(from === '' ? {} : { fromTime: timestampFromDate(dayStart(from, timeZone)) }),
    ...(to === '' ? {} : { toTime: timestampFromDate(dayStart(dayAfter(to), timeZone)) }),
  };
}
