import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createLogger } from '../../../src/platform/logger.ts';
import { createRepeatInTurn, repeatEvery } from '../../../src/platform/repeat-every.ts';
import { hangMs } from '../../support/wait-until.ts';

const dayMs = 24 * 60 * 60_000;

test('a failed task with a long interval is repeated soon, and then at its interval', async () => {
  const logger = createLogger({ process: 'test', instance: 'repeat-every', level: 'silent' });
  const stopping = new AbortController();
  let runs = 0;
  const repeated = repeatEvery({ task: 'testing', intervalMs: dayMs, logger, stop: stopping.signal }, () => {
    runs += 1;
    if (runs === 1) return Promise.reject(new Error('a busy moment'));
    setImmediate(() => stopping.abort());
    return Promise.resolve();
  });
  await repeated;

  expect(runs).toBe(2);
});

test('a task that fails for the same reason again and again is logged once a minute', async () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const logger = createLogger({ process: 'test', instance: 'repeat-every', level: 'warn' }, { write });
  const stopping = new AbortController();
  let runs = 0;
  await repeatEvery({ task: 'testing', intervalMs: 0, logger, stop: stopping.signal }, () => {
    if ((runs += 1) === 5) stopping.abort();
    return Promise.reject(new Error('no answer'));
  });

  expect(runs).toBe(5);
  expect(lines).toEqual([expect.stringContaining('"task":"testing"')]);
});

test('a task that a stop ends is not logged as one that is tried again', async () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const logger = createLogger({ process: 'test', instance: 'repeat-every', level: 'warn' }, { write });
  const stopping = new AbortController();
  await repeatEvery({ task: 'testing', intervalMs: 0, logger, stop: stopping.signal }, () => {
    stopping.abort();
    return Promise.reject(new Error('the connection is closed'));
  });

  expect(lines).toEqual([]);
});

/** Begins tasks in turn. The last one ends them all. */
function beginInTurn(longestTurnMs: number, runs: readonly (() => Promise<unknown>)[]) {
  const logger = createLogger({ process: 'test', instance: 'repeat-every', level: 'silent' });
  const stopping = new AbortController();
  const repeatInTurn = createRepeatInTurn(longestTurnMs);
  const end = (): Promise<void> => {
    stopping.abort();
    return Promise.resolve();
  };
  return Promise.all(
    [...runs, end].map((run, index) =>
      repeatInTurn({ task: `task ${index}`, intervalMs: dayMs, logger, stop: stopping.signal }, run),
    ),
  );
}

test('tasks in turn begin when the one before has run, even when it failed', async () => {
  const seen: string[] = [];
  await beginInTurn(hangMs, [
    async () => {
      seen.push('first begins');
      await nextTurn();
      seen.push('first ends');
    },
    () => {
      seen.push('second begins');
      return Promise.reject(new Error('a busy moment'));
    },
  ]);

  expect(seen).toEqual(['first begins', 'first ends', 'second begins']);
});

test('a task that does not end holds up no other task', async () => {
  const endless = Promise.withResolvers<undefined>();
  let isBegun = false;
  await beginInTurn(1, [
    () => endless.promise,
    () => {
      isBegun = true;
      endless.resolve(undefined);
      return Promise.resolve();
    },
  ]);

  expect(isBegun).toBe(true);
});
