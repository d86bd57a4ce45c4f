import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createShareOfTime } from '../../../src/platform/share-of-time.ts';

test('functions that wait together run in sequence', async () => {
  const done: number[] = [];
  const run = createShareOfTime(0.5);
  for (let index = 0; index < 7; index += 1) run(() => done.push(index));
  expect(done).toEqual([]);
  await nextTurn();
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test('a function that is added while others wait runs after them, and a later one starts again', async () => {
  const done: string[] = [];
  const run = createShareOfTime(0.5);
  run(() => {
    done.push('first');
    run(() => done.push('third'));
  });
  run(() => done.push('second'));
  await nextTurn();
  await nextTurn();
  expect(done).toEqual(['first', 'second', 'third']);
  run(() => done.push('later'));
  await nextTurn();
  expect(done.at(-1)).toBe('later');
});

test.each([
  { share: 0.2, elsewhereMs: 400, eachMs: 1, inATurn: 104, why: 'a quarter of the time for other work' },
  { share: 0.5, elsewhereMs: 40, eachMs: 1, inATurn: 40, why: 'as much time as other work' },
  { share: 0.2, elsewhereMs: 0, eachMs: 1, inATurn: 8, why: 'a few run in any case' },
  { share: 0.2, elsewhereMs: 400, eachMs: 1000, inATurn: 8, why: 'the clock is read after every few' },
])('with a share of $share, $why', async ({ share, elsewhereMs, eachMs, inATurn }) => {
  let nowMs = 0;
  let done = 0;
  const takes = (ms: number): void => {
    nowMs += ms;
  };
  const run = createShareOfTime(share, () => nowMs);
  for (let index = 0; index < 1000; index += 1) {
    run(() => {
      done += 1;
      // Node writes an answer in a tick after the function.
      process.nextTick(takes, eachMs);
    });
  }
  for (let turn = 1; turn <= 4; turn += 1) {
    takes(elsewhereMs);
    await nextTurn();
    expect(done).toBe(turn * inATurn);
  }
});
