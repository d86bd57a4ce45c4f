import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PhoneNumber } from '../../../src/core/domain/phone-number.ts';

describe('PhoneNumber.parse', () => {
  test.each([
    ['+14155552671', '+14155552671'],
    ['+2348012345678', '+2348012345678'],
    ['+1234567', '+1234567'],
    ['+123456789012345', '+123456789012345'],
    ['+252911223', '+252911223'],
  ])('reads %s as %s and keeps it as given', (text, e164) => {
    expect(PhoneNumber.parse(text, 'customer_phone')).toEqual({ ok: true, value: { asGiven: text, e164 } });
  });

  test.each([
    // Landlines, other prefixes, and a digit too few or too many.
    ...['0111223344', '+251111223344', '0811223344', '091122334', '09112233445', '91122334', '+25191122334'],
    ...['+2519112233445', '+123456', '+1234567890123456'],
    // Prefixes that cannot be combined.
    ...['+2510911223344', '+0911223344', '00251911223344', '14155552671', '++251911223344', '+'],
    // Other characters.
    ...['09 11 22 33 44', '0911-22-33-44', '(0)911223344', ' 0911223344', '0911223344\n', '0911223344\0'],
    ...[
      '፩፪፫፬፭፮፯፰፱',
      '٠٩١١٢٢٣٣٤٤',
      '０９１１２２３３４４',
      'O911223344',
      '+14155552671;ext=5',
      'tel:+251911223344',
    ],
  ])('refuses %j', (text) => {
    const issue =
      'must be an Ethiopian mobile number such as 0911223344, or an international one with its leading +';
    expect(PhoneNumber.parse(text, 'phone')).toEqual({ ok: false, error: { field: 'phone', issue } });
  });

  test('requires a number', () => {
    expect(PhoneNumber.parse('', 'phone')).toEqual({
      ok: false,
      error: { field: 'phone', issue: 'is required' },
    });
  });

  test('returns the same E.164 form for all four spellings of one Ethiopian mobile number', () => {
    const nationalNumber = fc.stringMatching(/^[79][0-9]{8}$/);
    fc.assert(
      fc.property(nationalNumber, fc.constantFrom('+251', '251', '0', ''), (national, prefix) => {
        const result = PhoneNumber.parse(prefix + national, 'phone');

        expect(result).toEqual({ ok: true, value: { asGiven: prefix + national, e164: `+251${national}` } });
      }),
    );
  });

  test('returns only E.164 forms, and parses each as itself', () => {
    const nearlyNumbers = fc.string({ unit: fc.constantFrom(...'+02579 '), maxLength: 17 });
    fc.assert(
      fc.property(nearlyNumbers, (text) => {
        const result = PhoneNumber.parse(text, 'phone');
        if (!result.ok) return;

        const { e164 } = result.value;
        expect(e164).toMatch(/^\+[1-9][0-9]{6,14}$/);
        expect(PhoneNumber.parse(e164, 'phone')).toEqual({ ok: true, value: { asGiven: e164, e164 } });
      }),
      { numRuns: 2_000 },
    );
  });
});
