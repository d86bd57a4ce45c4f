import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createFewPerTurn } from '../../../src/platform/few-per-turn.ts';

test('callbacks run in sequence, a few in each turn of the event loop', async () => {
  const done: number[] = [];
  const run = createFewPerTurn(3);
  for (let index = 0; index < 7; index += 1) run(() => done.push(index));
  expect(done).toEqual([]);
  await nextTurn();
  expect(done).toEqual([0, 1, 2]);
  await nextTurn();
  expect(done).toEqual([0, 1, 2, 3, 4, 5]);
  await nextTurn();
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test('a callback that is added while others wait runs after them, and a later one starts again', async () => {
  const done: string[] = [];
  const run = createFewPerTurn(1);
  run(() => {
    done.push('first');
    run(() => done.push('third'));
  });
  run(() => done.push('second'));
  await nextTurn();
  await nextTurn();
  await nextTurn();
  expect(done).toEqual(['first', 'second', 'third']);
  run(() => done.push('later'));
  await nextTurn();
  expect(done.at(-1)).toBe('later');
});
