import { describe, expect, test } from '@jest/globals';
import { parseEmail } from '../../../../src/core/accounts/email-address.ts';

describe('an address', () => {
  test.each([
    'a@b',
    'Sara.Bekele+pay@Shop.Example',
    `${'x'.repeat(64)}@shop.example`,
    "o'neil@a-b.c1.example",
    // Digits are allowed except as the whole last label.
    ...[
      'sara@163.com',
      'sara@1.2.example',
      'sara@192.0.2.1.example',
      'sara@mail.x1',
      'sara@1x',
      'sara@xn--4gq',
    ],
    `sara@${'b'.repeat(63)}.example`,
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
    // No top-level domain is numeric, and an IP address belongs in brackets.
    ...['sara@192.0.2.1', 'sara@1.2.3', 'sara@123', 'sara@0', 'sara@shop.123', 'sara@2130706433'],
    ...[`sara@${'b'.repeat(64)}.example`, 'sara@shop-.example', 'sara@shop.-example', 'sara@sho_p.example'],
    ...[`${'x'.repeat(65)}@shop.example`, `a@${'b'.repeat(253)}`],
  ])('%j is refused', (text) => {
    expect(parseEmail(text).ok).toBe(false);
  });
});
