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
