import { expect, test } from '@jest/globals';
import {
  internationalPhone,
  maskedPhone,
  readablePhone,
  typedPhone,
} from '../../../src/checkout/phone-text.ts';

test.each([
  ['0911223344', '0911223344'],
  ['+251 91 122-3344', '+251911223344'],
  ['(0911) 22.33.44', '0911223344'],
  ['\u202a0911\u00a0223344\u202c', '0911223344'],
  ['0911\u201322\u201133\u201144', '0911223344'],
  ['0911x223344', '0911x223344'],
  ['٠٩١١ ٢٢٣٣٤٤', '0911223344'],
  ['۰۹۱۱۲۲۳۳۴۴', '0911223344'],
  ['＋２５１ 911223344', '+251911223344'],
  ['00251 911 22 33 44', '+251911223344'],
  ['+251 (0)911 22 33 44', '+251911223344'],
  ['00254712345678', '+254712345678'],
])('%j is sent as %j', (typed, sent) => {
  expect(typedPhone(typed)).toBe(sent);
});

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
