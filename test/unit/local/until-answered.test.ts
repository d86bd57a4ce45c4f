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
    {
      code: Code.Unavailable,
      reason: 'core does not answer; try again in a moment',
      shown: 'core does not answer; try again in a moment',
    },
    {
      code: Code.DeadlineExceeded,
      reason: 'Deadline exceeded after 30.006s,metadata filters: 0.001s,remote_addr=127.0.0.1:50051',
      shown: 'no answer in time',
    },
  ])(
    'is repeated while a process does not answer (code $code), with a warning each time',
    async ({ code, reason, shown }) => {
      const outcomes = [new ConnectError(reason, code), new ConnectError(reason, code), undefined];
      const { warnings, ...rest } = options();
      const step = (): Promise<string> => {
        const outcome = outcomes.shift();
        return outcome === undefined ? Promise.resolve('done') : Promise.reject(outcome);
      };

      expect(await untilAnswered(step, rest)).toBe('done');
      const warning = `A process does not answer yet (${shown}). The start tries again`;
      expect(warnings).toEqual([warning, warning]);
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
