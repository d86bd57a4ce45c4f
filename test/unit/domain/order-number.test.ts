import { describe, expect, test } from '@jest/globals';
import { OrderNumber } from '../../../src/core/domain/order-number.ts';

describe('OrderNumber.parse', () => {
  test.each([
    '1',
    'INV-2026/0042',
    'a'.repeat(64),
    '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    '__proto__',
    'null',
  ])('keeps %j as given', (text) => {
    expect(OrderNumber.parse(text, 'order_number')).toEqual({ ok: true, value: text });
  });

  test.each([
    ['65 characters', 'a'.repeat(65)],
    ['a space', 'INV 42'],
    ['a leading space', ' INV42'],
    ['a trailing line break', 'INV42\n'],
    ['a tab', 'INV\t42'],
    ['a NUL', 'INV\x0042'],
    ['a DEL', 'INV\x7f42'],
    ['a letter outside ASCII', 'ትዕዛዝ'],
    ['an accented letter', 'café'],
    ['a no-break space', 'INV\u00a042'],
    ['a lone surrogate', 'INV\ud80042'],
    ['an emoji', '🧾'],
  ])('refuses %s', (_, text) => {
    expect(OrderNumber.parse(text, 'order_number')).toEqual({
      ok: false,
      error: { field: 'order_number', issue: 'must be 1 to 64 printable ASCII characters without spaces' },
    });
  });

  test('asks for a missing one', () => {
    expect(OrderNumber.parse('', 'order_number')).toEqual({
      ok: false,
      error: { field: 'order_number', issue: 'is required' },
    });
  });
});
