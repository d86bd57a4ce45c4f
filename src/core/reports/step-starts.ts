import { DateTime } from 'luxon';

export type Step = 'hour' | 'day';

export interface StepSpan {
  readonly from: Date;
  readonly to: Date;
  readonly step: Step;
  /** IANA name: where days begin at midnight. */
  readonly timeZone: string;
}

/**
 * When the steps of a span begin. Hours are 60 minutes each, from the first on. Days are those of the time zone, of 23 or
 * 25 hours when clocks are set; the first begins where the span does.
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
