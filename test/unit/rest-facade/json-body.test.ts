import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { maskedLength } from '../../../src/rest-facade/mask-exchange.ts';
import { maxJsonDepth, readJsonObject } from '../../../src/rest-facade/json-body.ts';
import type { BodyReading } from '../../../src/rest-facade/json-body.ts';
import { forAll } from '../../support/for-all.ts';

const read = (text: string, fields: readonly string[] = ['amount']): BodyReading =>
  readJsonObject(Buffer.from(text), fields);

/** An object nested `levels` deep, itself included. */
const nested = (levels: number): string => '{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1);

describe('reading a body as a JSON object', () => {
  test('returns the fields that JSON.parse returns, without issues, for all output of JSON.stringify', () => {
    const value = fc.jsonValue({ maxDepth: 6 });
    const emptied = (each: unknown): unknown =>
      typeof each === 'object' && each !== null ? (Array.isArray(each) ? [] : {}) : each;
    // As a computed key: fast-check's dictionary may otherwise set the prototype instead of a property.
    const object = fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      value,
    );
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, '\t'), (original, indent) => {
        const text = JSON.stringify(original, null, indent);
        fc.pre(!text.includes('__proto__'));
        const whole = JSON.parse(text) as Record<string, unknown>;
        const object = Object.fromEntries(Object.entries(whole).map(([key, each]) => [key, emptied(each)]));
        const isWhole = Object.values(whole).every((each) => emptied(each) === each);
        const reading = read(text, Object.keys(whole));
        expect(reading).toMatchObject({ readable: true, object, issues: [] });
        expect(reading).toHaveProperty('excerpt', isWhole ? undefined : JSON.stringify(whole));
      }),
    );
  });

  test('keeps only the known fields and the beginning of a body that has others', () => {
    const body = {
      amount: [[['x']]],
      name: 'ሀ',
      currency: { of: 'it' },
      more: Array.from({ length: 9_000 }, () => []),
    };
    const reading = read(JSON.stringify(body), ['amount', 'currency', 'missing']);
    expect(reading).toEqual({
      readable: true,
      object: { amount: [], currency: {} },
      excerpt: JSON.stringify(body).slice(0, maskedLength + 1),
      issues: [],
    });
  });

  test('keeps the beginning of a text that is longer than any field', () => {
    const amount = `${'9'.repeat(4_095)}\ud83d\ude00${'9'.repeat(20_000)}`;
    expect(read(JSON.stringify({ amount }))).toEqual({
      readable: true,
      object: { amount: `${'9'.repeat(4_095)}\ufffd` },
      excerpt: JSON.stringify({ amount })
        .slice(0, maskedLength + 1)
        .toWellFormed(),
      issues: [],
    });
  });

  forAll([fc.uint8Array({ maxLength: 200 })])('never throws, whatever the bytes', (bytes) => {
    expect(() => readJsonObject(Buffer.from(bytes), [])).not.toThrow();
  });

  test('finds a key that is repeated in any one object, however it is escaped', () => {
    const key = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text !== '__proto__');
    const escaped = (text: string): string =>
      `"${[...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
    fc.assert(
      fc.property(key, fc.nat({ max: 5 }), (name, depth) => {
        const twice = `{${JSON.stringify(name)}:1,"other":[{}],${escaped(name)}:2}`;
        fc.pre(name !== 'other');
        const text = '{"in":['.repeat(depth) + twice + ']}'.repeat(depth);
        expect(read(text).issues).toEqual([
          { field: 'body', issue: 'must not contain the same key twice in one object' },
        ]);
      }),
    );
  });

  test('reports a repeated field on the field', () => {
    expect(read('{"amount":"1","amount":"2"}').issues).toEqual([
      { field: 'amount', issue: 'must be given only once' },
    ]);
  });

  test('allows the same key in two objects', () => {
    expect(read('{"amount":{"amount":1},"list":[{"a":1},{"a":2}]}').issues).toEqual([]);
  });

  test('treats a text as a key only where a key may be', () => {
    expect(read('{"list":["a","a","__proto__"],"a":"a","b":"a"}').issues).toEqual([]);
  });

  test.each(['{"__proto__":1}', '{"a":[{"\\u005f_proto__":{}}]}'])(
    'refuses the key __proto__ in %s',
    (text) => {
      expect(read(text).issues).toEqual([{ field: 'body', issue: 'must not contain the key __proto__' }]);
    },
  );

  test('allows nesting up to the limit', () => {
    expect(read(nested(maxJsonDepth)).issues).toEqual([]);
  });

  test.each([
    ['objects', nested(maxJsonDepth + 1)],
    ['arrays', `{"a":${'['.repeat(maxJsonDepth)}${']'.repeat(maxJsonDepth)}}`],
    ['far too many arrays', `{"a":${'['.repeat(16_000)}${']'.repeat(16_000)}}`],
  ])('refuses nesting beyond the limit: %s', (_name, text) => {
    expect(read(text)).toEqual({
      readable: false,
      issues: [{ field: 'body', issue: 'must not be nested deeper than 16 levels' }],
    });
  });

  test('treats an empty body as an object without fields', () => {
    expect(read('')).toEqual({ readable: true, object: {}, excerpt: undefined, issues: [] });
  });

  test.each([
    ['nothing but spaces', '   ', 'must be valid JSON; it ends too early'],
    ['truncated', '{"amount":"1', 'must be valid JSON'],
    ['cut off between tokens', '{"amount":', 'must be valid JSON; it ends too early'],
    ['a trailing comma', '{"amount":"1",}', 'must be valid JSON'],
    ['a comment', '{/* */}', 'must be valid JSON'],
    ['single quotes', "{'amount':'1'}", 'must be valid JSON'],
    ['two values', '{} {}', 'must be valid JSON'],
    ['a raw control character', '{"amount":"\u0001"}', 'must be valid JSON'],
    ['NaN', '{"amount":NaN}', 'must be valid JSON'],
    ['form data', 'amount=1', 'must be valid JSON'],
    ['an array', '[]', 'must be a JSON object'],
    ['null', 'null', 'must be a JSON object'],
    ['a string', '"amount"', 'must be a JSON object'],
    ['a number', '1', 'must be a JSON object'],
    ['a byte order mark', '\ufeff{}', 'must not start with a byte order mark'],
  ])('refuses %s', (_name, text, issue) => {
    expect(read(text)).toMatchObject({ readable: false, issues: [{ field: 'body' }] });
    expect(read(text).issues[0]!.issue).toContain(issue);
  });

  test.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong NUL', [0xc0, 0x80]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
    ['latin-1', [0x7b, 0x22, 0xe9, 0x22, 0x3a, 0x31, 0x7d]],
  ])('refuses bytes that are not UTF-8: %s', (_name, bytes) => {
    expect(readJsonObject(Buffer.from(bytes), [])).toEqual({
      readable: false,
      issues: [{ field: 'body', issue: 'must be UTF-8 text' }],
    });
  });

  test('never quotes the body', () => {
    const secret = 'svc_live_do_not_repeat';
    const texts = [`{"a":"${secret}`, `{${secret}}`, `{"${secret}":1,"${secret}":2}`, secret];
    for (const text of texts) expect(JSON.stringify(read(text).issues)).not.toContain(secret);
  });
});
