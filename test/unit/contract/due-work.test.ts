import { expect, test } from '@jest/globals';
import { dueWork, partOf, walletWorkOf } from '../../../src/contract/due-work.ts';

const wallet = { environment: 'SANDBOX', wallet: 'walleta' } as const;
const all = ['payments', 'reversals', 'payerPayments', 'reconciliations', 'checks'];

test.each([
  ['no part', '', all],
  ['its due payments', partOf(dueWork('payments', 'SANDBOX', 'walleta_ussd')), ['payments']],
  ['its due refunds', partOf(dueWork('reversals', 'SANDBOX', 'walleta_wallet')), ['reversals']],
  ['due payments that payers started', partOf({ ...wallet, work: 'payerPayments' }), ['payerPayments']],
  ['those of the other environment', partOf(dueWork('payments', 'PRODUCTION', 'walleta_ussd')), []],
  ['those of another wallet', partOf(dueWork('payments', 'SANDBOX', 'walletb_ussd')), []],
  ['a part of an earlier core', 'money_back', all],
  ['a part of a later core', 'later SANDBOX walletb', all],
])('a wallet that is woken for %s asks for this work', (_name, part, work) => {
  expect(walletWorkOf(part, wallet)).toEqual(work);
});
