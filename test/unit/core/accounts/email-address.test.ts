import { describe, expect, test } from '@jest/globals';
import { parseEmail } from '../../../../src/core/accounts/email-address.ts';

describe('an address', () => {
  test.each([
    'a@b',
    'Sara.Bekele+pay@Shop.Example',
    `${'x'.repeat(64)}@shop.example`,
    "o'neil@a-b.c1.example",
  ])('%s is kept as it was written, and is found in either case', (text) => {
    expect(parseEmail(text)).toEqual({ ok: true, value: { text, key: text.toLowerCase() } });
  });

  test.each([
    ...[
      '',
      'sara',
      '@shop.example',
      'sara@',
      'sara@shop..example',
      'sara@-shop.example',
      'sara@shop.example.',
    ],
    ...['sara bekele@shop.example', 'sara@shop.example\r\nbcc: all@shop.example', 'Sara <sara@shop.example>'],
    ...['sara@shop.example,abebe@shop.example', 'sara@[127.0.0.1]', '"sara"@shop.example'],
    ...[`${'x'.repeat(65)}@shop.example`, `a@${'b'.repeat(253)}`],
  ])('%j is refused', (text) => {
    expect(parseEmail(text).ok).toBe(false);
  });
});
