import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createFairCalls } from '../../../src/platform/fair-calls.ts';
import { failureOf } from '../../support/rpc-failure.ts';

const connected = { aborted: false };

/** Calls by name, which run until the test ends them. */
function openCalls(maxRunning: number, maxWaitingPerOwner = 10) {
  const fairly = createFairCalls({ maxRunning, maxWaitingPerOwner });
  const running = new Map<string, () => void>();
  const begin = (owner: string, name: string, signal = connected) =>
    fairly(owner, signal, async () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      running.set(name, () => resolve(name));
      return promise;
    });
  const end = async (name: string): Promise<void> => {
    running.get(name)?.();
    running.delete(name);
    await nextTurn();
  };
  return { begin, end, running: () => [...running.keys()] };
}

test('one owner gets half of the calls, and the others still begin at once', async () => {
  const calls = openCalls(6);
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void calls.begin('a', name);
  void calls.begin('b', 'b1');
  await nextTurn();

  expect(calls.running()).toEqual(['a1', 'a2', 'a3', 'b1']);
});

test('calls of one owner begin in their order, and owners take turns', async () => {
  const calls = openCalls(1);
  for (const name of ['a1', 'a2', 'a3']) void calls.begin('a', name);
  for (const name of ['b1', 'b2']) void calls.begin('b', name);
  await nextTurn();
  const order: string[] = [];
  for (let left = 5; left > 0; left -= 1) {
    const [name = ''] = calls.running();
    order.push(name);
    await calls.end(name);
  }

  expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
});

test('an owner with too many waiting calls is refused, and others are not', async () => {
  const calls = openCalls(2, 1);
  void calls.begin('a', 'a1');
  void calls.begin('a', 'a2');

  expect((await failureOf(calls.begin('a', 'a3'))).reason).toBe('OVERLOADED');
  void calls.begin('b', 'b1');
  await nextTurn();
  expect(calls.running()).toEqual(['a1', 'b1']);
});

test('a call whose caller disconnected before its turn is dropped', async () => {
  const calls = openCalls(1);
  void calls.begin('a', 'a1');
  const left = { aborted: false };
  const dropped = failureOf(calls.begin('a', 'a2', left));
  void calls.begin('a', 'a3');
  await nextTurn();
  left.aborted = true;
  await calls.end('a1');

  expect((await dropped).reason).toBe('CALL_CANCELLED');
  await nextTurn();
  expect(calls.running()).toEqual(['a3']);
});

test('a failed call makes room for the next one', async () => {
  const fairly = createFairCalls({ maxRunning: 1, maxWaitingPerOwner: 1 });
  const failed = fairly('a', connected, () => Promise.reject(new Error('no')));

  await expect(failed).rejects.toThrow('no');
  await expect(fairly('a', connected, () => Promise.resolve('done'))).resolves.toBe('done');
});
