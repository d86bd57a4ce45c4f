import { DateTime } from 'luxon';

export type Step = 'hour' | 'day';

export interface StepSpan {
  readonly from: Date;
  readonly to: Date;
  readonly step: Step;
  /** The IANA name of the time zone in which days begin at midnight. */
  readonly timeZone: string;
}

/**
 * The start times of a report's steps. Hours have 60 minutes, counted from the start. Days are those of the time zone, with 23
 * or 25 hours when clocks change. The first day begins at the start of the report.
 */
export function stepStarts({ from, to, step, timeZone }: StepSpan): Date[] {
  const first = DateTime.fromJSDate(from, { zone: timeZone });
  const starts: Date[] = [];
  for (let start = from; start < to;) {
    starts.push(start);
    const count = starts.length;
    start =
      step === 'hour'
        ? first.plus({ hours: count }).toJSDate()
        : first.plus({ days: count }).startOf('day').toJSDate();
  }
  return starts;
}
