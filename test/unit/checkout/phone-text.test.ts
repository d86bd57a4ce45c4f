import { expect, test } from '@jest/globals';
import { readablePhone, withoutSeparators } from '../../../src/checkout/phone-text.ts';

test.each([
  ['0911223344', '0911223344'],
  ['+251 91 122-3344', '+251911223344'],
  ['(0911) 22.33.44', '0911223344'],
  ['\u202a0911\u00a0223344\u202c', '0911223344'],
  ['0911x223344', '0911x223344'],
])('%j is sent as %j', (typed, sent) => {
  expect(withoutSeparators(typed)).toBe(sent);
});

test.each([
  ['+251911223344', '+251\u00a091\u00a0122\u00a03344'],
  ['+254712345678', '+254712345678'],
])('%s is read as %s', (e164, text) => {
  expect(readablePhone(e164)).toBe(text);
  expect(withoutSeparators(readablePhone(e164))).toBe(e164);
});
