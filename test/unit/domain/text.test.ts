import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseText } from '../../../src/core/domain/text.ts';

const reason = { max: 255, required: true };
const businessName = { max: 128, required: false };

const controlCharacters = 'must not contain control characters, such as line breaks';
const bidirectionalControls =
  'must not contain bidirectional control characters (U+202A to U+202E, U+2066 to U+2069)';

describe('parseText', () => {
  test.each([
    ['plain text', 'Order 42'],
    ['Amharic', 'የትዕዛዝ ክፍያ'],
    ['Arabic, which needs no override', 'دفع الطلب'],
    ['a right-to-left mark', 'abc\u200f'],
    ['an emoji with joiners', '👩‍👩‍👧'],
    ['markup, which is for the page to escape', '<script>alert(1)</script>'],
    ['surrounding spaces', ' a '],
    ['255 letters', 'a'.repeat(255)],
    ['255 code points of two UTF-16 units each', '😀'.repeat(255)],
  ])('keeps %s as given', (_, text) => {
    expect(parseText(text, 'reason', reason)).toEqual({ ok: true, value: text });
  });

  test.each([
    ['nothing', '', 'is required'],
    ['spaces', '   ', 'must not be blank'],
    ['no-break and ideographic spaces', '\u00a0\u3000', 'must not be blank'],
    ['zero-width spaces', '\u200b\u2060', 'must not be blank'],
    ['256 letters', 'a'.repeat(256), 'must be at most 255 characters'],
    ['256 emoji', '😀'.repeat(256), 'must be at most 255 characters'],
    ['a NUL', 'a\0b', controlCharacters],
    ['a line feed', 'a\nb', controlCharacters],
    ['a carriage return', 'a\rb', controlCharacters],
    ['a tab', 'a\tb', controlCharacters],
    ['an escape', 'a\x1b[31m', controlCharacters],
    ['a DEL', 'a\x7f', controlCharacters],
    ['a C1 control', 'a\x85b', controlCharacters],
    ['a leading half of a surrogate pair', 'a\ud83d', 'must be well-formed Unicode, without lone surrogates'],
    [
      'a trailing half of a surrogate pair',
      '\ude00a',
      'must be well-formed Unicode, without lone surrogates',
    ],
    ['a right-to-left override', 'pay \u202e001', bidirectionalControls],
    ['an embedding', '\u202aa', bidirectionalControls],
    ['a pop', 'a\u202c', bidirectionalControls],
    ['an isolate', '\u2066a', bidirectionalControls],
    ['a pop of an isolate', 'a\u2069', bidirectionalControls],
  ])('refuses %s', (_, text, issue) => {
    expect(parseText(text, 'reason', reason)).toEqual({ ok: false, error: { field: 'reason', issue } });
  });

  test.each(['', '  '])('treats %j as an absent optional text', (text) => {
    expect(parseText(text, 'business_name', businessName)).toEqual({ ok: true, value: text });
  });

  test.each([
    ['too long', 'a'.repeat(129), 'must be at most 128 characters'],
    ['a control character', '\0', controlCharacters],
  ])('refuses an invalid optional text: %s', (_, text, issue) => {
    expect(parseText(text, 'business_name', businessName)).toEqual({
      ok: false,
      error: { field: 'business_name', issue },
    });
  });

  test('returns an unchanged text or one issue, for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const result = parseText(text, 'reason', reason);

        if (result.ok) expect(result.value).toBe(text);
        else expect(result.error).toEqual({ field: 'reason', issue: expect.any(String) });
      }),
    );
  });
});
