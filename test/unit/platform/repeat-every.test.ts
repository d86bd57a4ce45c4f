import { expect, test } from '@jest/globals';
import { createLogger } from '../../../src/platform/logger.ts';
import { repeatEvery } from '../../../src/platform/repeat-every.ts';

test('a failed task with a long interval is repeated soon, and then at its interval', async () => {
  const logger = createLogger({ process: 'test', instance: 'repeat-every', level: 'silent' });
  const stopping = new AbortController();
  let runs = 0;
  const repeated = repeatEvery(
    { task: 'testing', intervalMs: 24 * 60 * 60_000, logger, stop: stopping.signal },
    () => {
      runs += 1;
      if (runs === 1) return Promise.reject(new Error('a busy moment'));
      setImmediate(() => stopping.abort());
      return Promise.resolve();
    },
  );
  await repeated;

  expect(runs).toBe(2);
});
