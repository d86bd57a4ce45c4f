import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createEndOfTurn } from '../../../src/platform/end-of-turn.ts';

test('all callers of a turn continue at its end, in sequence', async () => {
  const done: string[] = [];
  const endOfTurn = createEndOfTurn();
  for (const name of ['first', 'second']) void endOfTurn().then(() => done.push(name));
  await Promise.resolve();
  expect(done).toEqual([]);
  await nextTurn();
  expect(done).toEqual(['first', 'second']);
});

test('callers of a later turn wait for the end of theirs', async () => {
  const endOfTurn = createEndOfTurn();
  await endOfTurn();
  let isOver = false;
  void endOfTurn().then(() => (isOver = true));
  await Promise.resolve();
  expect(isOver).toBe(false);
  await nextTurn();
  expect(isOver).toBe(true);
});
