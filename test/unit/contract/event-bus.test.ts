import { expect, test } from '@jest/globals';
import { onlyAttempts, onlyMoneyBack, walletWorkOf } from '../../../src/contract/event-bus.ts';

const all = ['payments', 'reversals', 'payerPayments', 'reconciliations', 'checks'];

test.each([
  ['no part, as an earlier core sends it', '', all],
  ['due payments', onlyAttempts, ['payments']],
  ['due refunds', onlyMoneyBack, ['reversals']],
  ['a part that a later core sends', 'later', all],
])('wallets processes that hear of %s ask for this work', (_name, part, work) => {
  expect(walletWorkOf(part)).toEqual(work);
});
