import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { maskJson, maskTarget } from '../../../src/rest-facade/mask-exchange.ts';

/** The text is cut after this number of characters, before it is masked. */
const lookedAt = 12_288;
const cutAfter = (text: string): string => text + 'x'.repeat(lookedAt);

test('a value that is cut is left out, because its rest would no longer be recognised as a secret', () => {
  const start = '{"reason":"Tea","note":"';

  expect(maskJson(cutAfter(start))).toBe(`${start}…`);
});

test.each([
  ['a number that is too short for a phone', maskJson, '{"phone":"911 22 33"}', '{"phone":"*******"}'],
  [
    'a link without a token',
    maskJson,
    '{"checkout_url":"https://a/b"}',
    '{"checkout_url":"https://a/[masked]"}',
  ],
  ['a short secret in the query', maskTarget, '/direct?pin=1234&b=c', '/direct?pin=[masked]&b=c'],
])('%s is masked by its name', (_what, mask, text, masked) => {
  expect(mask(text)).toBe(masked);
});

test('a query above 120 characters is cut before the parameter that exceeds them', () => {
  const query = `a=1&b=${'x'.repeat(114)}`;

  expect([query, `${query}y`].map((each) => maskTarget(`/direct?${each}`))).toEqual([
    `/direct?${query}`,
    '/direct?a=1&…',
  ]);
});

// One of these texts took a tenth of a second, in which the facade answered nobody. The deadline stops the test then.
test('two thousand texts with a long value before the cut are masked before the deadline', async () => {
  const long = `{"note":"${'é'.repeat(lookedAt - 10)}"`;
  expect(long).toHaveLength(lookedAt);

  for (let count = 0; count < 2_000; count += 1) {
    maskJson(cutAfter(long));
    await setImmediate();
  }
}, 60_000);
