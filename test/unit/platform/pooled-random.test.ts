import { randomFillSync } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { pooledRandom } from '../../../src/platform/pooled-random.ts';
import { randomIdsFrom } from '../../../src/contract/public-id.ts';

test('every draw is 16 bytes that no other draw has', () => {
  let filled = 0;
  const draw = pooledRandom((bytes) => {
    for (let index = 0; index < bytes.length; index += 1)
      bytes[index] = Math.floor((filled + index) / 16) % 256;
    filled += bytes.length;
  });

  const draws = Array.from({ length: 256 }, () => Buffer.from(draw()).toString('hex'));

  expect(new Set(draws).size).toBe(256);
  expect(draws.every((each) => each.length === 32)).toBe(true);
});

test('the source is read again only when the pool is used up', () => {
  let asked = 0;
  const draw = pooledRandom(() => (asked += 1));

  for (let count = 0; count < 256; count += 1) draw();
  expect(asked).toBe(1);
  draw();
  expect(asked).toBe(2);
});

test('ids from the pool are all different, and have the given time', () => {
  const newId = randomIdsFrom(pooledRandom(randomFillSync));
  const at = new Date('2025-11-20T09:30:00.000Z');

  const ids = Array.from({ length: 5000 }, () => newId('ord', at));

  expect(new Set(ids).size).toBe(5000);
  expect(new Set(ids.map((id) => id.slice(0, 12))).size).toBe(1);
});
