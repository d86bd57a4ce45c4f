import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hasSensitive, maskPhone, maskSensitive } from '../../../src/platform/mask-sensitive.ts';
import { idPrefixes, newRandomId } from '../../../src/contract/public-id.ts';

describe('maskSensitive', () => {
  test.each([
    ['INV-0911223344', 'INV-09112**344'],
    ['INV0711223344x', 'INV07112**344x'],
    ['251911223344', '25191****344'],
    ['00251911223344', '00251******344'],
    ['pay for 911223344.', 'pay for 91122*344.'],
    ['+14155550123', '+1415****123'],
    ['%2B14155550123', '+1415****123'],
    ['+251 91-122 (3344)', '+2519*****344)'],
    ['0911 22 33 44', '09112**344'],
    ['251-911-223-344', '25191****344'],
    ['x svc_live_Ab-1_c', 'x svc_live_[masked]'],
    ['whsec_MfKQ9r8GKYqrTwjU+/=', 'whsec_[masked]'],
    ['Bearer 0123456789', 'Bearer [masked]'],
    ['abebe.kebede+shop@mail.example.et', 'a***@mail.example.et'],
    ['for abebe%40mail.example', 'for a***@mail.example'],
  ])('%s is shown as %s', (text, shown) => {
    expect(maskSensitive(text)).toBe(shown);
  });

  test.each([
    'svc_live_[masked]',
    'INV-2025-0042',
    '20251122093015',
    '1763631072123',
    '2025-09-22-000123',
    '91122334',
    '127.0.0.1:50051',
    '2026-11-22T05:04:58.123Z',
    '/api/v1/direct?payment_option=walleta_ussd',
    'payment_attempts_order_id_environment_merchant_id_key',
    '4bf92f3577b34da6a3ce929d0e0e4736',
    'ab1911223344cdef',
    '0199c1e2-1234-7123-8123-251911223344',
  ])('%s is shown unchanged', (text) => {
    expect(maskSensitive(text)).toBe(text);
  });

  test('every token of Gatehouse is masked, whatever surrounds it', () => {
    const token = fc
      .tuple(fc.constantFrom(32, 65), fc.constantFrom('hex' as const, 'base64url' as const))
      .map(([bytes, encoding]) => randomBytes(bytes).toString(encoding))
      // One in several thousand has no letter of one kind, or no digit.
      .filter((text) => /^[0-9a-f]+$/.test(text) || (/[A-Z]/.test(text) && /[\d_-]/.test(text)));
    const around = fc.string({ unit: fc.constantFrom(' ', '/', ':', '"', '.', 'é'), maxLength: 3 });
    fc.assert(
      fc.property(around, token, around, (before, secret, after) => {
        expect(maskSensitive(before + secret + after)).toBe(`${before}[masked]${after}`);
      }),
    );
  });

  test('every phone is masked, whatever surrounds it, except for more digits', () => {
    const phone = fc
      .tuple(fc.constantFrom('+251', '251', '0', '', '%2B251'), fc.constantFrom('9', '7'), fc.nat(99_999_999))
      .map(([prefix, first, rest]) => prefix + first + String(rest).padStart(8, '0'));
    const around = fc.string({ unit: fc.constantFrom('x', '-', '_', ' ', '"', '/', '=', 'G'), maxLength: 4 });
    fc.assert(
      fc.property(around, phone, around, (before, number, after) => {
        expect(maskSensitive(before + number + after)).not.toContain(number.slice(-9));
      }),
    );
  });

  test('ids of Gatehouse and masked texts are unchanged', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...idPrefixes),
        fc.date({ min: new Date(0), max: new Date(2 ** 47) }),
        (prefix, at) => {
          expect(hasSensitive(newRandomId(prefix, at))).toBe(false);
        },
      ),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'+0179 .-@aZ_%/svc'), maxLength: 80 }), (text) => {
        expect(hasSensitive(text)).toBe(maskSensitive(text) !== text);
      }),
    );
  });
});

describe('maskPhone', () => {
  test.each([
    ['+251911223344', '+2519*****344'],
    ['251911223344', '25191****344'],
    ['0911223344', '09112**344'],
    ['911223344', '91122*344'],
    ['91122334', '********'],
    ['12', '**'],
    ['', ''],
  ])('%s is shown as %s', (phone, shown) => {
    expect(maskPhone(phone)).toBe(shown);
  });

  test('never shows more than the first five characters and the last three, and keeps the length', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (phone) => {
        const shown = maskPhone(phone);
        expect(shown).toHaveLength(phone.length);
        const hidden = phone.length < 9 ? shown : shown.slice(5, -3);
        expect(hidden).toBe('*'.repeat(hidden.length));
        expect(shown.length - hidden.length).toBeLessThanOrEqual(8);
      }),
    );
  });
});
