import { describe, expect, test } from '@jest/globals';
import {
  dayBefore,
  dayNamed,
  latestDays,
  dayText,
  monthBefore,
  timeNamed,
  zoneText,
} from '../../../src/dashboard/local-time.ts';

describe('a day', () => {
  test.each([
    ['2026-11-21', 'Africa/Addis_Ababa', '2026-11-20T21:00:00.000Z', '2026-11-21T21:00:00.000Z'],
    ['2026-03-08', 'America/New_York', '2026-03-08T05:00:00.000Z', '2026-03-09T04:00:00.000Z'],
    // Clocks go back from 1 o'clock to midnight.
    ['2026-10-31', 'America/Havana', '2026-10-31T04:00:00.000Z', '2026-11-01T04:00:00.000Z'],
    ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
  ])('%s in %s lasts from its beginning to that of the next one', (text, zone, from, to) => {
    expect(dayNamed(text, zone)).toEqual({ from: new Date(from), to: new Date(to) });
  });

  test.each([
    ...['', '2026-02-30', '21.11.2026', '2026-11-21T00:00'].map((text) => [text, 'UTC'] as const),
    // It begins in the year 0 in UTC.
    ['0001-01-01', 'Africa/Addis_Ababa'],
    ['9999-12-31', 'UTC'],
  ])('cannot be %j in %s', (text, zone) => {
    expect(dayNamed(text, zone)).toBeUndefined();
  });

  test.each([
    ['UTC', 1, '2026-11-20T00:00:00.000Z', '2026-11-21T00:00:00.000Z'],
    ['Africa/Addis_Ababa', 1, '2026-11-20T21:00:00.000Z', '2026-11-21T21:00:00.000Z'],
    ['Asia/Kolkata', 7, '2026-11-14T18:30:00.000Z', '2026-11-21T18:30:00.000Z'],
    ['Asia/Kathmandu', 7, '2026-11-14T18:15:00.000Z', '2026-11-21T18:15:00.000Z'],
    ['Europe/Berlin', 30, '2026-10-21T22:00:00.000Z', '2026-11-20T23:00:00.000Z'],
    ['America/Havana', 20, '2026-11-01T04:00:00.000Z', '2026-11-21T05:00:00.000Z'],
  ])('in %s is the last of %i, from midnight to midnight', (zone, count, from, to) => {
    const at = new Date('2026-11-20T22:30:00.000Z');

    expect(latestDays(at, count, zone)).toEqual({ from: new Date(from), to: new Date(to) });
  });

  test.each([
    ['UTC', '2026-10-31T00:00Z', '2026-11-01T00:00Z', '2026-10-01T00:00Z', '2026-11-01T00:00Z'],
    [
      'Africa/Addis_Ababa',
      '2026-10-31T21:00Z',
      '2026-11-01T21:00Z',
      '2026-09-30T21:00Z',
      '2026-10-31T21:00Z',
    ],
    // The clocks change on 1 November.
    ['America/New_York', '2026-10-31T04:00Z', '2026-11-01T04:00Z', '2026-10-01T04:00Z', '2026-11-01T04:00Z'],
    ['America/Havana', '2026-10-31T04:00Z', '2026-11-01T04:00Z', '2026-10-01T04:00Z', '2026-11-01T04:00Z'],
  ])('and a calendar month come before today in %s', (zone, dayFrom, dayTo, monthFrom, monthTo) => {
    const at = new Date(zone === 'Africa/Addis_Ababa' ? '2026-11-01T21:30Z' : '2026-11-01T20:30Z');

    expect(dayBefore(at, zone)).toEqual({ from: new Date(dayFrom), to: new Date(dayTo) });
    expect(monthBefore(at, zone)).toEqual({ from: new Date(monthFrom), to: new Date(monthTo) });
  });

  test('begins at midnight of its time zone', () => {
    expect(dayText(new Date('2026-11-20T21:00Z'), 'Africa/Addis_Ababa')).toBe('2026-11-21');
  });

  test('is displayed in a time zone whose offset is known', () => {
    expect(zoneText('Africa/Addis_Ababa', new Date())).toBe('Africa/Addis_Ababa (UTC+03:00)');
  });
});

describe('a time in a form', () => {
  test.each(['2026-11-21T08:49', '2026-11-21T08:49:00'])('%s is read in the local time zone', (text) => {
    expect(timeNamed(text, 'Africa/Addis_Ababa')).toEqual(new Date('2026-11-21T05:49:00.000Z'));
  });

  test.each(['', '2026-11-21', '2026-13-01T00:00', '2026-11-21T08:49Z', '0001-01-01T00:00'])(
    'cannot be %j',
    (text) => {
      expect(timeNamed(text, 'Africa/Addis_Ababa')).toBeUndefined();
    },
  );
});
