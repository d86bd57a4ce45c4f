import { describe, expect, test } from '@jest/globals';
import { Code, ConnectError } from '@connectrpc/connect';
import { untilAnswered } from '../../../src/main/local/until-answered.ts';

function options() {
  const warnings: string[] = [];
  const stopping = new AbortController();
  return {
    warnings,
    stopping,
    warn: (line: string) => void warnings.push(line),
    signal: stopping.signal,
    pauseMs: 0,
  };
}

describe('a step of the start', () => {
  test.each([
    [Code.Unavailable, 'core does not answer; try again in a moment'],
    [Code.DeadlineExceeded, 'Deadline exceeded after 30 s'],
  ])(
    'is repeated while a process does not answer (code %s), with a warning each time',
    async (code, reason) => {
      const outcomes = [new ConnectError(reason, code), new ConnectError(reason, code), undefined];
      const { warnings, ...rest } = options();
      const step = (): Promise<string> => {
        const outcome = outcomes.shift();
        return outcome === undefined ? Promise.resolve('done') : Promise.reject(outcome);
      };

      expect(await untilAnswered(step, rest)).toBe('done');
      expect(warnings).toEqual([expect.stringContaining(reason), expect.stringContaining(reason)]);
    },
  );

  test('fails at once with every other error', async () => {
    const { warnings, ...rest } = options();
    const refused = new ConnectError('the name is taken', Code.AlreadyExists);

    await expect(untilAnswered(() => Promise.reject(refused), rest)).rejects.toBe(refused);
    expect(warnings).toEqual([]);
  });

  test('is not repeated after the signal to stop', async () => {
    const { stopping, ...rest } = options();
    const reason = new Error('interrupted');
    const step = (): Promise<never> => {
      stopping.abort(reason);
      return Promise.reject(new ConnectError('core does not answer', Code.Unavailable));
    };

    await expect(untilAnswered(step, rest)).rejects.toBe(reason);
  });
});
