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
    ...['a'.repeat(65), 'INV 42', ' INV42', 'INV42\n', 'INV\t42', 'INV\x0042', 'INV\x7f42'],
    ...['ትዕዛዝ', 'café', 'INV\u00a042', 'INV\ud80042', '🧾'],
  ])('refuses %j', (text) => {
    const issue = 'must be 1 to 64 printable ASCII characters without spaces';
    const refused = { ok: false, error: { field: 'order_number', issue } };
    expect(OrderNumber.parse(text, 'order_number')).toEqual(refused);
  });

  test('requires a number', () => {
    expect(OrderNumber.parse('', 'order_number')).toEqual({
      ok: false,
      error: { field: 'order_number', issue: 'is required' },
    });
  });
});
