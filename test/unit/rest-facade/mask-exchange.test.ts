import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { maskJson } from '../../../src/rest-facade/mask-exchange.ts';

/** The text is cut after this number of characters, before it is masked. */
const lookedAt = 12_288;
const cutAfter = (text: string): string => text + 'x'.repeat(lookedAt);

test('a value that is cut is left out, because its rest would no longer be recognised as a secret', () => {
  const start = '{"reason":"Tea","note":"';

  expect(maskJson(cutAfter(start))).toBe(`${start}…`);
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
