import { expect, test } from '@jest/globals';
import { momentFormat } from '../../../src/platform/language/moment-text.ts';

test.each([
  ['en', 'short', '29 Nov 2026, 14:45'],
  ['en', 'medium', '29 Nov 2026, 14:45:09'],
  ['am', 'short', '29 ኖቬም 2026 14:45'],
  ['am', 'medium', '29 ኖቬም 2026 14:45:09'],
] as const)('a time in %s, %s, has 24 hours', (language, style, text) => {
  const format = momentFormat(language, 'Africa/Addis_Ababa', style);

  expect(format.format(new Date('2026-11-29T11:45:09Z'))).toBe(text);
});
