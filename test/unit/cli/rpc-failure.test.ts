import { Code, ConnectError } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { describeRpcFailure } from '../../../src/cli/rpc-failure.ts';
import { rpcError } from '../../../src/contract/error-reason.ts';

test('a decision that the recovery does not wait for is answered with the command that shows the open ones', () => {
  const refusal = rpcError('NOT_RECOVERING', 'the recovery does not wait for this decision');

  expect(describeRpcFailure(refusal, { addresses: [] })).toMatchObject({
    exitCode: 4,
    message: 'the recovery does not wait for this decision',
    advice: 'To see which decisions the recovery waits for: gatehouse restore status',
  });
});

test.each([
  ['Connection dropped', true],
  ['read ECONNRESET', true],
  ['No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1', false],
  ['No connection established. Last error: null', false],
  ['Name resolution failed for target dns:core:50051', false],
  ['No connection established. Last error: Failed to connect', false],
])('an unavailable core with the message %j may have executed the call: %s', (message, maybe) => {
  const failure = describeRpcFailure(new ConnectError(message, Code.Unavailable), { addresses: ['core:1'] });

  expect(failure.exitCode).toBe(5);
  expect(failure.message).toMatch(
    maybe ? /^the connection to the core at core:1 was lost/ : /^no core answers/,
  );
  expect(failure.advice.includes('the change may have happened')).toBe(maybe);
});

test.each([
  ['core', true],
  ['webhooks process', true],
  ['core', false],
] as const)(
  'a %s that gives no answer is stopped and started again, not started twice (doctor: %s)',
  (server, isDoctor) => {
    const silent = new ConnectError('Deadline exceeded after 5.001s', Code.DeadlineExceeded);

    const { message, advice } = describeRpcFailure(silent, { addresses: ['core:1'], server, isDoctor });

    expect(message).toBe(`no ${server} answers at core:1 (no answer came in time)`);
    expect(advice).toContain('Read its log. Stop it, and start it again.');
    expect(advice).not.toMatch(/npm start|Core exits/);
  },
);
