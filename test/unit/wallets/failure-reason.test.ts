import { expect, test } from '@jest/globals';
import { walletDeclineReasons } from '../../../src/core/domain/order.ts';
import { failureReasons } from '../../../src/wallets/connector/failure-reason.ts';

test('core records every reason for which a connector says that its wallet declined', () => {
  expect(walletDeclineReasons).toEqual(failureReasons);
});
