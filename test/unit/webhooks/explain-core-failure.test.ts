import { Code, ConnectError } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { reasonOf } from '../../../src/platform/rpc/rpc-error.ts';
import { explainCoreFailure } from '../../../src/webhooks/rpc/require-merchant.ts';

test.each([
  ['that its caller cancelled is no failure of ours', new ConnectError('', Code.Canceled), undefined],
  [
    'without an answer in time is CORE_UNAVAILABLE',
    new ConnectError('', Code.DeadlineExceeded),
    'CORE_UNAVAILABLE',
  ],
  ['that fails without a reason is INTERNAL', new ConnectError('', Code.Unknown), 'INTERNAL'],
  ['keeps the reason of core', rpcError('MERCHANT_NOT_FOUND', ''), 'MERCHANT_NOT_FOUND'],
])('a call to core %s', (_what, failure, reason) => {
  const explained = explainCoreFailure(failure);
  expect(explained instanceof ConnectError ? reasonOf(explained) : explained).toBe(reason);
});
