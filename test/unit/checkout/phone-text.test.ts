import { expect, test } from '@jest/globals';
import { internationalPhone, maskedPhone, readablePhone } from '../../../src/checkout/phone-text.ts';

test.each([
  ['+251911223344', '0911\u00a022\u00a033\u00a044', '09••\u00a0••\u00a0••\u00a044'],
  ['251911223344', '0911\u00a022\u00a033\u00a044', '09••\u00a0••\u00a0••\u00a044'],
  ['0911223344', '0911\u00a022\u00a033\u00a044', '09••\u00a0••\u00a0••\u00a044'],
  ['911 22-33-44', '0911\u00a022\u00a033\u00a044', '09••\u00a0••\u00a0••\u00a044'],
  ['+254712345678', '+254712345678', '+25••••••••78'],
  ['8118', '8118', '8118'],
  ['', '', ''],
])('%s is read as %s, and masked as %s', (phone, text, masked) => {
  expect([readablePhone(phone), readablePhone(text), maskedPhone(phone)]).toEqual([text, text, masked]);
});

test.each([
  ['0711 22-33-44', '+251711223344'],
  ['251911223344', '+251911223344'],
  ['+254 712 345678', '+254712345678'],
  ['254712345678', ''],
  ['', ''],
])('%j is %j where it is compared with the prefixes of wallets', (phone, e164) => {
  expect(internationalPhone(phone)).toBe(e164);
});
