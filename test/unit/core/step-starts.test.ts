import { describe, expect, test } from '@jest/globals';
import { stepStarts } from '../../../src/core/reports/step-starts.ts';

const isoOf = (dates: readonly Date[]): string[] => dates.map((date) => date.toISOString().slice(0, 16));
const between = (from: string, to: string) => ({ from: new Date(from), to: new Date(to) });

describe('days', () => {
  test.each([
    ['UTC', '2026-11-20T00:00Z', '2026-11-22T00:00Z', ['2026-11-21T00:00']],
    ['Asia/Kolkata', '2026-11-19T18:30Z', '2026-11-21T18:30Z', ['2026-11-20T18:30']],
    ['Asia/Kathmandu', '2026-11-19T18:15Z', '2026-11-21T18:15Z', ['2026-11-20T18:15']],
    ['Pacific/Chatham', '2026-11-19T10:15Z', '2026-11-21T10:15Z', ['2026-11-20T10:15']],
    ['America/St_Johns', '2026-11-20T03:30Z', '2026-11-22T03:30Z', ['2026-11-21T03:30']],
    ['of 25 hours in Europe/Berlin', '2026-10-24T22:00Z', '2026-10-26T23:00Z', ['2026-10-25T23:00']],
    ['of 23 hours in Europe/Berlin', '2026-03-28T23:00Z', '2026-03-30T22:00Z', ['2026-03-29T22:00']],
    ['with less time in Australia/Lord_Howe', '2026-10-03T13:30Z', '2026-10-05T13:00Z', ['2026-10-04T13:00']],
    ['without a midnight in Africa/Cairo', '2026-04-23T22:00Z', '2026-04-25T21:00Z', ['2026-04-24T21:00']],
  ])('%s begin at local midnight', (what, from, to, later) => {
    const timeZone = what.split(' ').at(-1) ?? '';

    expect(isoOf(stepStarts({ ...between(from, to), step: 'day', timeZone }))).toEqual([
      from.slice(0, -1),
      ...later,
    ]);
  });

  test('start with the period, even if that is not midnight', () => {
    const span = between('2026-11-20T09:15Z', '2026-11-21T06:00Z');

    expect(isoOf(stepStarts({ ...span, step: 'day', timeZone: 'UTC' }))).toEqual([
      '2026-11-20T09:15',
      '2026-11-21T00:00',
    ]);
  });
});

test.each([
  ['Asia/Kathmandu', '2026-11-19T18:15Z', '2026-11-20T18:15Z', 24],
  ['Europe/Berlin', '2026-10-24T22:00Z', '2026-10-25T23:00Z', 25],
  ['Europe/Berlin', '2026-03-28T23:00Z', '2026-03-29T22:00Z', 23],
])(
  'the hours of a day in %s have 60 minutes each: from %s to %s, %i of them',
  (timeZone, from, to, count) => {
    const starts = stepStarts({ ...between(from, to), step: 'hour', timeZone });

    expect(starts).toHaveLength(count);
    expect(
      new Set(starts.slice(1).map((start, index) => start.getTime() - (starts[index]?.getTime() ?? 0))),
    ).toEqual(new Set([3_600_000]));
  },
);
