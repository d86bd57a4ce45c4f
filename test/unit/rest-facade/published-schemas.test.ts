import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { Currency } from '../../../src/core/domain/currency.ts';
import { HttpUrl } from '../../../src/core/domain/http-url.ts';
import { Money } from '../../../src/core/domain/money.ts';
import { OrderNumber } from '../../../src/core/domain/order-number.ts';
import { PhoneNumber } from '../../../src/core/domain/phone-number.ts';
import { parseText } from '../../../src/core/domain/text.ts';
import { fieldNames, registerBodySchema } from '../../../src/merchant-api/requests.ts';

const ajv = new Ajv2020({ strict: true, validateFormats: false });
const accepts = (field: keyof typeof registerBodySchema.properties, text: string): boolean =>
  ajv.validate(registerBodySchema.properties[field], text);

/** The published schema must accept everything that core accepts. This test ignores texts that core refuses. */
function neverStricter(
  field: keyof typeof registerBodySchema.properties,
  texts: fc.Arbitrary<string>,
  coreTakes: (text: string) => boolean,
): void {
  fc.assert(
    fc.property(texts, (text) => {
      fc.pre(coreTakes(text));
      expect(accepts(field, text)).toBe(true);
    }),
  );
}

describe('the published schema refuses nothing that core accepts', () => {
  test('order_number', () => {
    const texts = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 64 });
    neverStricter('order_number', texts, (text) => OrderNumber.parse(text, 'order_number').ok);
  });

  test('amount', () => {
    const texts = fc.oneof(
      fc.stringMatching(/^[0-9]{1,12}(\.[0-9]{1,2})?$/),
      fc.double({ min: 0.01, max: 999_999_999_999 }).map(String),
    );
    neverStricter('amount', texts, (text) => Money.parse(text, 'amount', Currency.of('ETB')).ok);
  });

  test('currency', () => {
    const texts = fc.constantFrom('ETB', 'USD', 'etb', 'JPY', 'ET');
    neverStricter('currency', texts, (text) => Currency.parse(text, 'currency', ['ETB', 'USD', 'JPY']).ok);
  });

  test('customer_phone', () => {
    const texts = fc.oneof(
      fc.stringMatching(/^(\+251|251|0|)[79][0-9]{8}$/),
      fc.stringMatching(/^\+[1-9][0-9]{6,14}$/),
    );
    neverStricter('customer_phone', texts, (text) => PhoneNumber.parse(text, 'customer_phone').ok);
  });

  test('reason', () => {
    const texts = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 });
    neverStricter('reason', texts, (text) => parseText(text, 'reason', { max: 255, required: true }).ok);
    expect(accepts('reason', '😀'.repeat(255))).toBe(true);
  });

  test('return_url', () => {
    const texts = fc.oneof(
      fc.stringMatching(
        /^https?:\/\/[a-zA-Z0-9-]{1,20}(\.[a-z]{2,6}){0,2}(:[1-9][0-9]{0,3})?(\/[\w.~!$&'()*+,;=:@-]{0,12}){0,3}(\?[\w/?=&-]{0,12})?(#\w{0,5})?$/,
      ),
      fc.constantFrom('HTTP://A', `https://a/${'x'.repeat(2038)}`, 'http://[::1]:8'),
    );
    neverStricter('return_url', texts, (text) => HttpUrl.parse(text, 'return_url', 'SANDBOX').ok);
  });
});

test("a body's fields have the sequence of the spec's table, followed by business_name", () => {
  expect(fieldNames(registerBodySchema)).toEqual([
    'order_number',
    'return_url',
    'webhook_url',
    'amount',
    'currency',
    'reason',
    'customer_phone',
    'business_name',
  ]);
});

// The facade does not check its schemas at its start.
test('every published schema is a valid schema', async () => {
  const document = JSON.parse(await readFile('clients/openapi.json', 'utf8')) as {
    readonly components: { readonly schemas: Readonly<Record<string, object>> };
  };
  const schemas: object[] = Object.values(document.components.schemas);
  JSON.stringify(document, (key, value: unknown) => {
    if (key === 'schema' && typeof value === 'object' && value !== null) schemas.push(value);
    return value;
  });

  expect(schemas.length).toBeGreaterThan(20);
  for (const schema of schemas)
    expect({ schema, isValid: ajv.validateSchema(schema) }).toEqual({ schema, isValid: true });
});

test('code generators and validators find no pattern that Python, Go, PHP or Java cannot read', async () => {
  const patterns: string[] = [];
  JSON.stringify(JSON.parse(await readFile('clients/openapi.json', 'utf8')), (key, value: unknown) => {
    if (key === 'pattern' && typeof value === 'string') patterns.push(value);
    return value;
  });

  expect(patterns.length).toBeGreaterThan(10);
  expect(patterns.filter((pattern) => /\\[puPU]/.test(pattern))).toEqual([]);
  const hasClassInClass = (pattern: string): boolean => /\[[^\]]*\[/.test(pattern.replaceAll(/\\./g, ''));
  expect(patterns.filter(hasClassInClass)).toEqual([]);
});
