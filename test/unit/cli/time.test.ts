import { create } from '@bufbuild/protobuf';
import { DurationSchema, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { describe, expect, test } from '@jest/globals';
import { momentOption, timestampOf } from '../../../src/cli/moment.ts';
import type { Moment } from '../../../src/cli/moment.ts';
import { addPeriod, periodOf } from '../../../src/cli/period.ts';
import { parseDuration, parseTime, showDuration, showTime } from '../../../src/cli/time.ts';

describe('time spans', () => {
  test.each([
    ['90s', 90n],
    ['30m', 1_800n],
    ['24h', 86_400n],
    ['7d', 604_800n],
    ['1h30m', 5_400n],
    ['1d2h3m4s', 93_784n],
    ['0s', 0n],
  ])('%s is %s seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  test.each(['', '30', 'm', '30 m', '1.5h', '-1h', '30m1h', '1w', '1h1h', '1H'])('%j is refused', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  test.each([
    [0n, '0s'],
    [90n, '1m30s'],
    [1_800n, '30m'],
    [86_400n, '1d'],
    [5_400n, '1h30m'],
  ])('%s seconds are shown as %s', (seconds, text) => {
    expect(showDuration(create(DurationSchema, { seconds }))).toBe(text);
  });
});

describe('points in time', () => {
  test.each([
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T08:30Z', '2026-01-31T08:30:00.000Z'],
    ['2026-01-31T08:30:15.25Z', '2026-01-31T08:30:15.250Z'],
    ['2026-01-31T02:00:00+03:00', '2026-01-30T23:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ])('%s is parsed as %s', (text, iso) => {
    expect(parseTime(text)?.toISOString()).toBe(iso);
  });

  test.each([
    ...['', 'today', '2026', '2026-1-1', '31.01.2026', '2026-13-01', '2026-02-30', '2025-02-29'],
    ...['2026-02-30T10:00:00Z', '2026-01-31T25:00:00Z', '2026-01-31 08:30:00Z', '1769846400'],
  ])('%j is refused', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });

  test('a time of day without a zone is refused, because it would differ on each machine', () => {
    expect(parseTime('2026-01-31T08:30:00')).toBeUndefined();
  });

  test('are shown to the second, in UTC', () => {
    expect(showTime(timestampFromDate(new Date('2026-01-31T08:30:15.999+03:00')))).toBe(
      '2026-01-31T05:30:15Z',
    );
    expect(showTime(undefined, 'never')).toBe('never');
  });
});

const now = new Date('2026-11-21T12:00:00.750Z');

function read(text: string): string {
  const program = new Command().addOption(momentOption('--since <time>', ''));
  const { since } = program.parse(['--since', text], { from: 'user' }).opts<{ since: Moment }>();
  return timestampDate(timestampOf(since, now)).toISOString();
}

test.each([
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2026-01-31T08:30:00.125+03:00', '2026-01-31T05:30:00.125Z'],
  ['90s', '2026-11-21T11:58:30.000Z'],
  ['7d', '2026-11-14T12:00:00.000Z'],
  ['0s', '2026-11-21T12:00:00.000Z'],
])('an option of a time or an age, %s, is parsed as %s', (text, time) => {
  expect(read(text)).toBe(time);
});

test('the next page of a list has a time in place of an age', () => {
  const list = addPeriod(new Command(), 'orders registered');
  list.parse(['--since', '24h', '--to', '2026-11-21'], { from: 'user' });
  expect(periodOf(list.opts(), now)).toEqual({
    since: timestampFromDate(new Date('2026-11-20T12:00:00Z')),
    until: timestampFromDate(new Date('2026-11-21T00:00:00Z')),
    ofNextPage: ' --since 2026-11-20T12:00:00Z',
  });
});
