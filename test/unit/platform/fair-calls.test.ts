import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createFairCalls } from '../../../src/platform/fair-calls.ts';
import { failureOf } from '../../support/rpc-failure.ts';

const connected = { aborted: false };

/** Calls by name, which run until the test ends them. */
function openCalls(maxRunning: number, maxWaiting = 10, maxWaitingOfOwner = 100) {
  const fairly = createFairCalls({ maxRunning, maxWaiting, maxWaitingOfOwner });
  const running = new Map<string, () => void>();
  const begin = (ownerAndPart: string, name: string, signal = connected, maxWaitMs?: number) => {
    const [owner = '', part = ''] = ownerAndPart.split('/');
    return fairly({ owner, part, maxWaitMs }, signal, async () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      running.set(name, () => resolve(name));
      return promise;
    });
  };
  const end = async (name: string): Promise<void> => {
    running.get(name)?.();
    running.delete(name);
    await nextTurn();
  };
  /** Ends the calls one after another. Returns their names in the order in which they began. */
  const endAll = async (): Promise<string[]> => {
    const order: string[] = [];
    for (let [name] = running.keys(); name !== undefined; [name] = running.keys()) {
      order.push(name);
      await end(name);
    }
    return order;
  };
  return { begin, end, endAll, running: () => [...running.keys()] };
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

  expect(await calls.endAll()).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
});

test('an owner with many parts has no more turns than another, and its parts take turns within its own', async () => {
  const calls = openCalls(1);
  for (const part of ['p', 'q', 'r'])
    for (const nth of [1, 2]) void calls.begin(`a/${part}`, `${part}${nth}`);
  for (const name of ['b1', 'b2', 'b3']) void calls.begin('b', name);
  await nextTurn();

  expect(await calls.endAll()).toEqual(['p1', 'p2', 'b1', 'q1', 'b2', 'r1', 'b3', 'q2', 'r2']);
});

test('many parts of one owner get half of the calls, and another owner begins at once', async () => {
  const calls = openCalls(6);
  for (const part of ['p', 'q', 'r', 's', 't']) void calls.begin(`a/${part}`, part);
  void calls.begin('b', 'b1');
  await nextTurn();

  expect(calls.running()).toEqual(['p', 'q', 'r', 'b1']);
});

test('a part with too many waiting calls is refused, and other parts and owners are not', async () => {
  const calls = openCalls(2, 1);
  void calls.begin('a', 'a1');
  void calls.begin('a', 'a2');

  expect((await failureOf(calls.begin('a', 'a3'))).reason).toBe('OVERLOADED');
  void calls.begin('a/p', 'p1');
  void calls.begin('b', 'b1');
  await nextTurn();
  expect(calls.running()).toEqual(['a1', 'b1']);
  await calls.end('a1');
  await calls.end('a2');
  expect(calls.running()).toEqual(['b1', 'p1']);
});

test('an owner with too many waiting calls is refused, whatever their parts, and other owners are not', async () => {
  const calls = openCalls(1, 1, 2);
  for (const part of ['p', 'q', 'r']) void calls.begin(`a/${part}`, part);

  expect((await failureOf(calls.begin('a/s', 's'))).reason).toBe('OVERLOADED');
  void calls.begin('b', 'b1');
  await nextTurn();
  expect(await calls.endAll()).toEqual(['p', 'q', 'b1', 'r']);
});

test('a call of a new part replaces the newest call of the part with the most waiting calls', async () => {
  const calls = openCalls(1, 2, 3);
  void calls.begin('a/p', 'p1');
  void calls.begin('a/p', 'p2');
  const replaced = failureOf(calls.begin('a/p', 'p3'));
  void calls.begin('a/q', 'q1');
  void calls.begin('a/r', 'r1');

  expect((await replaced).reason).toBe('OVERLOADED');
  expect((await failureOf(calls.begin('a/q', 'q2'))).reason).toBe('OVERLOADED');
  expect(await calls.endAll()).toEqual(['p1', 'p2', 'q1', 'r1']);
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

test('a call whose caller disconnected leaves its place to the next one', async () => {
  const calls = openCalls(1, 2);
  void calls.begin('a', 'a1');
  const left = { aborted: false };
  const dropped = failureOf(calls.begin('a', 'a2', left));
  void calls.begin('a', 'a3');
  left.aborted = true;
  void calls.begin('a', 'a4');
  const refused = failureOf(calls.begin('a', 'a5'));

  expect((await dropped).reason).toBe('CALL_CANCELLED');
  expect((await refused).reason).toBe('OVERLOADED');
  expect(await calls.endAll()).toEqual(['a1', 'a3', 'a4']);
});

test('a call that has waited too long is refused and never begins', async () => {
  const calls = openCalls(1);
  void calls.begin('a', 'a1');

  expect((await failureOf(calls.begin('a', 'a2', connected, 1))).reason).toBe('OVERLOADED');
  await calls.end('a1');
  void calls.begin('b', 'b1');
  await nextTurn();
  expect(calls.running()).toEqual(['b1']);
});

test('a failed call makes room for the next one', async () => {
  const fairly = createFairCalls({ maxRunning: 1, maxWaiting: 1 });
  const failed = fairly({ owner: 'a' }, connected, () => Promise.reject(new Error('no')));

  await expect(failed).rejects.toThrow('no');
  await expect(fairly({ owner: 'a' }, connected, () => Promise.resolve('done'))).resolves.toBe('done');
});
