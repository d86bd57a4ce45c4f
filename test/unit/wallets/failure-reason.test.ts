import { expect, test } from '@jest/globals';
import { walletDeclineReasons } from '../../../src/core/domain/order.ts';
import { home as amharic } from '../../../src/dashboard/language/amharic/home.ts';
import { home as english } from '../../../src/dashboard/language/english/home.ts';
import { failureReasons } from '../../../src/wallets/connector/failure-reason.ts';

test('core records every reason for which a connector says that its wallet declined', () => {
  expect(walletDeclineReasons).toEqual(failureReasons);
});

test('the dashboard has words for each of these reasons, in both languages', () => {
  for (const { failures } of [english, amharic])
    expect(Object.keys(failures.reasons)).toEqual(expect.arrayContaining([...walletDeclineReasons]));
});
