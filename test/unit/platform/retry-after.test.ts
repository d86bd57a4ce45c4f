import { expect, test } from '@jest/globals';
import { retryAfterMs } from '../../../src/platform/http/retry-after.ts';

const now = new Date('2026-11-06T08:49:37.000Z');

const dayMs = 24 * 3_600_000;

test.each([
  ['1', 1_000],
  ['0', 0],
  [' 120 ', 120_000],
  ['259200', 3 * dayMs],
  ['00030', 30_000],
  ['Fri, 06 Nov 2026 08:50:07 GMT', 30_000],
  ['Friday, 06-Nov-26 08:50:07 GMT', 30_000],
  ['Fri Nov  6 08:50:07 2026', 30_000],
  ['Mon, 09 Nov 2026 08:49:37 GMT', 3 * dayMs],
  ['Fri, 06 Nov 2026 08:49:00 GMT', 0],
])('%j means a wait of %i ms: seconds, or a date relative to now', (text, expected) => {
  expect(retryAfterMs(text, now)).toBe(expected);
});

test('very many seconds are still a number', () => {
  expect(retryAfterMs('9'.repeat(100), now)).toBeGreaterThan(dayMs);
});

test.each([
  ...['', ' ', '-1', '1.5', '1e3', '0x10', '5 minutes', '５', 'soon', 'tomorrow', '1, 2', 'null'],
  ...['2026-11-06T08:50:07Z', '06 Nov 2026', 'Fri, 06 Nov 2026 08:50:07', 'Fri, 06 Nov 2026 08:50:07 +0300'],
  ...['Fri, 99 Nov 2026 08:50:07 GMT', 'Fri, 06 Nov 2026 99:50:07 GMT'],
])('%j is ignored', (text) => {
  expect(retryAfterMs(text, now)).toBeUndefined();
});
