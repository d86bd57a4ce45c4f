import { Type } from '@sinclair/typebox';
import { describe, expect, test } from '@jest/globals';
import { readForm } from '../../../src/dashboard/forms/read-form.ts';
import { shell } from '../../../src/dashboard/language/english/shell.ts';

const Form = Type.Object({
  label: Type.Optional(Type.String({ maxLength: 5 })),
  amount: Type.String({ pattern: '^[0-9]+$' }),
  overlap: Type.Union([Type.Literal('hour'), Type.Literal('day')]),
  password: Type.String({ minLength: 3 }),
  options: Type.Array(Type.String()),
});

const read = (body: Readonly<Record<string, string | string[]>>) =>
  readForm(Form, body, shell.forms, { amount: 'Enter a whole number.' });

const right = { amount: '12', overlap: 'day', password: ' x y ', options: ['a', 'b'] };

describe('a form', () => {
  test('returns its values without blanks around them, except in passwords', () => {
    const form = read({ ...right, amount: ' 12 ', label: ' tea ', other: 'ignored' });

    expect(form).toMatchObject({
      ok: true,
      value: { amount: '12', overlap: 'day', password: ' x y ', label: 'tea', options: ['a', 'b'] },
    });
  });

  test('treats an empty field as missing, and one value of several as a list', () => {
    expect(read({ ...right, label: '  ', options: 'a' })).toMatchObject({
      ok: true,
      value: { options: ['a'] },
    });
    expect(read({ ...right, label: '  ' })).not.toMatchObject({ value: { label: expect.anything() } });
  });

  test('reports each invalid field, and keeps the input except passwords', () => {
    const form = read({ label: 'longer', amount: 'ten', overlap: 'week', password: 'ab' });

    expect(form).toEqual({
      ok: false,
      values: { label: 'longer', amount: 'ten', overlap: 'week', options: '' },
      errors: {
        label: 'Enter at most 5 characters.',
        amount: 'Enter a whole number.',
        overlap: 'Choose one of the options.',
        password: 'Enter at least 3 characters.',
      },
    });
  });

  test.each([[undefined], [null], ['text'], [{ amount: { nested: 'x' } }], [Object.create(null)]])(
    'of another type (%p) has every field missing',
    (body) => {
      expect(readForm(Form, body, shell.forms).errors).toEqual({
        amount: 'Fill in this field.',
        overlap: 'Choose one of the options.',
        password: 'Fill in this field.',
      });
    },
  );
});
