import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PhoneNumber } from '../../../src/core/domain/phone-number.ts';

describe('PhoneNumber.parse', () => {
  test.each([
    ['+251911223344', '+251911223344'],
    ['+251711223344', '+251711223344'],
    ['251911223344', '+251911223344'],
    ['251711223344', '+251711223344'],
    ['0911223344', '+251911223344'],
    ['0711223344', '+251711223344'],
    ['911223344', '+251911223344'],
    ['711223344', '+251711223344'],
    ['+14155552671', '+14155552671'],
    ['+2348012345678', '+2348012345678'],
    ['+1234567', '+1234567'],
    ['+123456789012345', '+123456789012345'],
    ['+252911223', '+252911223'],
  ])('reads %s as %s and keeps it as given', (text, e164) => {
    expect(PhoneNumber.parse(text, 'customer_phone')).toEqual({ ok: true, value: { asGiven: text, e164 } });
  });

  test.each([
    ['a landline', '0111223344'],
    ['a landline with country code', '+251111223344'],
    ['a number starting with 8', '0811223344'],
    ['a digit too few', '091122334'],
    ['a digit too many', '09112233445'],
    ['nine digits too few', '91122334'],
    ['a country code and a trunk zero', '+2510911223344'],
    ['a country code with a digit too few', '+25191122334'],
    ['a country code with a digit too many', '+2519112233445'],
    ['the plus of a local number', '+0911223344'],
    ['the international prefix 00', '00251911223344'],
    ['another country without its plus', '14155552671'],
    ['six digits', '+123456'],
    ['sixteen digits', '+1234567890123456'],
    ['two pluses', '++251911223344'],
    ['a plus alone', '+'],
    ['spaces', '09 11 22 33 44'],
    ['dashes', '0911-22-33-44'],
    ['brackets', '(0)911223344'],
    ['a leading blank', ' 0911223344'],
    ['a trailing line break', '0911223344\n'],
    ['a NUL', '0911223344\0'],
    ['Arabic digits', '٠٩١١٢٢٣٣٤٤'],
    ['full-width digits', '０９１１２２３３４４'],
    ['letters', 'O911223344'],
    ['an extension', '+14155552671;ext=5'],
    ['a tel URI', 'tel:+251911223344'],
  ])('refuses %s: %j', (_, text) => {
    expect(PhoneNumber.parse(text, 'phone')).toEqual({
      ok: false,
      error: {
        field: 'phone',
        issue:
          'must be an Ethiopian mobile number such as 0911223344, or an international one with its leading +',
      },
    });
  });

  test('asks for a missing number', () => {
    expect(PhoneNumber.parse('', 'phone')).toEqual({
      ok: false,
      error: { field: 'phone', issue: 'is required' },
    });
  });

  test('gives all four spellings of one Ethiopian mobile number the same E.164 form', () => {
    const nationalNumber = fc.stringMatching(/^[79][0-9]{8}$/);
    fc.assert(
      fc.property(nationalNumber, fc.constantFrom('+251', '251', '0', ''), (national, prefix) => {
        const result = PhoneNumber.parse(prefix + national, 'phone');

        expect(result).toEqual({ ok: true, value: { asGiven: prefix + national, e164: `+251${national}` } });
      }),
    );
  });

  test('gives only E.164 forms, and reads each as itself', () => {
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
