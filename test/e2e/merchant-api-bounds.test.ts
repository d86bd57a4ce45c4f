import { beforeAll, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import {
  directPath,
  directPayment,
  issuesOf,
  registration,
  sharedMerchantApi,
  sharedShop,
} from './merchant-api-harness.ts';

// The server treats a field as the published document says, on both sides of each bound.

interface FieldSchema {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly examples: readonly string[];
}

// CLF has four decimals, as many as the document knows.
const api = sharedMerchantApi({ settings: { GATEHOUSE_CURRENCIES: 'ETB,USD,CLF' } });
const shop = sharedShop(api);
let schemas: Record<string, { readonly properties: Readonly<Record<string, FieldSchema>> }>;
beforeAll(async () => {
  const document = (await (await fetch(`${api.rest.sandbox}/openapi.json`)).json()) as {
    components: { schemas: typeof schemas };
  };
  ({ schemas } = document.components);
});

const bodies = {
  RegisterRequest: ['/api/v1/register', registration({ currency: 'CLF', business_name: 'Tea' })],
  DirectPaymentRequest: [directPath, directPayment({ currency: 'CLF' })],
  VerifyRequest: ['/api/v1/verify', { order_number: 'V-1' }],
} as const;
type SchemaName = keyof typeof bodies;

const ajv = new Ajv2020({ validateFormats: false });
const schemaOf = (name: SchemaName, field: string): FieldSchema => schemas[name]!.properties[field]!;
const documentTakes = (name: SchemaName, field: string, text: string): boolean =>
  ajv.validate(schemaOf(name, field), text);

/** Whether the server accepts the field. Another field is missing, so that nothing is registered. */
async function serverTakes(name: SchemaName, field: string, text: string): Promise<boolean> {
  const [path, body] = bodies[name];
  const other = field === 'order_number' ? 'amount' : 'order_number';
  const sent = Object.fromEntries(Object.entries(body).filter(([key]) => key !== other));
  const answer = await api.post(shop, path, { ...sent, [field]: text });
  if (name === 'VerifyRequest' && answer.status === 404) return true;
  expect(answer.status).toBe(400);
  return !(field in issuesOf(answer));
}

/** A text of the field's form that is this long. */
const texts: Readonly<Record<string, (length: number) => string>> = {
  order_number: (length) => 'x'.repeat(length),
  return_url: (length) => 'https://shop.example/'.padEnd(length, 'x').slice(0, length),
  webhook_url: (length) => 'https://shop.example/'.padEnd(length, 'x').slice(0, length),
  amount: (length) => (length > 12 ? `${'9'.repeat(12)}.`.padEnd(length, '5') : '1'.repeat(length)),
  currency: (length) => 'ETB'.padEnd(length, 'B').slice(0, length),
  reason: (length) => '😀'.repeat(length),
  customer_phone: (length) => '+1'.padEnd(length, '4').slice(0, length),
  phone: (length) => '+1'.padEnd(length, '4').slice(0, length),
  business_name: (length) => 'é'.repeat(length),
};

const fields = (['RegisterRequest', 'DirectPaymentRequest', 'VerifyRequest'] as const).flatMap((name) =>
  Object.keys(bodies[name][1]).map((field) => [name, field] as const),
);

test('the cases cover every field of the OpenAPI document', () => {
  const documented = (Object.keys(bodies) as SchemaName[]).flatMap((name) =>
    Object.keys(schemas[name]!.properties).map((field) => `${name}.${field}`),
  );
  const tried = fields.map(([name, field]) => `${name}.${field}`);
  expect(tried.sort()).toEqual(documented.sort());
  // A field without bounds would not be compared.
  for (const [name, field] of fields) {
    const { maxLength } = schemaOf(name, field);
    expect([field, maxLength]).toEqual([field, expect.any(Number)]);
  }
});

test.each(fields)(
  '%s.%s: the server refuses only values that are shorter or longer than documented',
  async (name, field) => {
    const { minLength = 0, maxLength = 0 } = schemaOf(name, field);
    const lengths = [minLength - 1, minLength, maxLength, maxLength + 1].filter((length) => length >= 0);
    // The next test covers the shortest URL and the shortest decimals, whose limit is not their length.
    const compared = field.endsWith('_url') ? lengths.slice(-2) : lengths;
    for (const length of compared) {
      const text = texts[field]!(length);
      const isWithin = length >= minLength && length <= maxLength;
      const documented = documentTakes(name, field, text);
      expect([field, length, documented]).toEqual([field, length, isWithin]);
      expect([field, length, await serverTakes(name, field, text)]).toEqual([field, length, documented]);
    }
  },
);

const strange = [
  ...'0917+-._/@:%[]\\#?AaZz \t\u0000\u00a0\u200b\u202e\u2067é😀',
  '\ud800',
  '%41',
  '00',
  '.0',
];
type Change = (text: string) => string;
const change = fc.oneof(
  fc.tuple(fc.nat(), fc.constantFrom(...strange)).map(([at, inserted]): Change => (text) => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + inserted + text.slice(index);
  }),
  fc.nat().map(
    (at): Change =>
      (text) =>
        text.slice(0, at % (text.length + 1)),
  ),
  fc.nat().map(
    (at): Change =>
      (text) =>
        text.slice(at % (text.length + 1)),
  ),
  fc.tuple(fc.nat(), fc.nat(4)).map(([at, count]): Change => (text) => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + text.slice(index + count);
  }),
);

/** Lone surrogates, characters that change the direction of writing, and texts of spaces and invisible characters. */
const notShown = /\p{Cs}|[\u202a-\u202e\u2066-\u2069]|^[\s\p{Default_Ignorable_Code_Point}]*$/u;

/** The rules that no pattern expresses for all languages: about hosts, currencies, and the characters of a text. */
const isBeyondPatterns = (field: string, text: string): boolean => {
  if (field === 'reason' || field === 'business_name') return notShown.test(text);
  if (field === 'currency') return /^[A-Z]{3}$/.test(text) && !['ETB', 'USD', 'CLF'].includes(text);
  if (!field.endsWith('_url')) return false;
  const [, host = ''] = /^https?:\/\/([^/?#:]*)/i.exec(text) ?? [];
  const url = URL.parse(text);
  return url === null || (!host.startsWith('[') && url.hostname !== host.toLowerCase());
};

test.each(fields)(
  '%s.%s: the document and the server agree about texts that are almost valid',
  async (name, field) => {
    const examples = [
      ...schemaOf(name, field).examples,
      texts[field]!(12),
      '0.0001',
      '+14155550123',
      'http://[::1]:8/',
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...examples),
        fc.array(change, { minLength: 0, maxLength: 2 }),
        async (example, changes) => {
          const text = changes.reduce((changed, each) => each(changed), example);
          fc.pre(!isBeyondPatterns(field, text));
          expect([text, await serverTakes(name, field, text)]).toEqual([
            text,
            documentTakes(name, field, text),
          ]);
        },
      ),
      { numRuns: 25 },
    );
  },
);
