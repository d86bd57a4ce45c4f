import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { promoteAccount, removeAccount, retireAccount } from '../../../src/core/domain/wallet-account.ts';
import type { WalletAccountCheck, WalletAccountState } from '../../../src/core/domain/wallet-account.ts';
import { forAll } from '../../support/for-all.ts';

const states: readonly WalletAccountState[] = ['NEXT', 'CURRENT', 'RETIRED'];
const checks: readonly WalletAccountCheck[] = ['WAITING', 'ACCEPTED', 'REFUSED', 'UNKNOWN'];

describe('every state with every command', () => {
  test.each([
    ['NEXT', 'WAITING', 'not_checked'],
    ['NEXT', 'ACCEPTED', 'CURRENT'],
    ['NEXT', 'REFUSED', 'not_checked'],
    ['NEXT', 'UNKNOWN', 'not_checked'],
    // A provider that is unavailable for a while does not end the use of an account.
    ['CURRENT', 'WAITING', 'CURRENT'],
    ['CURRENT', 'ACCEPTED', 'CURRENT'],
    ['CURRENT', 'REFUSED', 'CURRENT'],
    ['CURRENT', 'UNKNOWN', 'CURRENT'],
    // The return from a new account that fails.
    ['RETIRED', 'WAITING', 'not_checked'],
    ['RETIRED', 'ACCEPTED', 'CURRENT'],
    ['RETIRED', 'REFUSED', 'not_checked'],
    ['RETIRED', 'UNKNOWN', 'not_checked'],
  ] as const)('promoting %s that is %s gives %s', (state, checkResult, expected) => {
    const promoted = promoteAccount({ state, checkResult });

    expect(promoted.ok ? promoted.value : promoted.error).toBe(expected);
  });

  test.each([
    ['NEXT', 'not_current'],
    ['CURRENT', 'RETIRED'],
    ['RETIRED', 'RETIRED'],
  ] as const)('retiring %s gives %s', (state, expected) => {
    const retired = retireAccount({ state, checkResult: 'ACCEPTED' });

    expect(retired.ok ? retired.value : retired.error).toBe(expected);
  });
});

forAll([fc.constantFrom(...states), fc.constantFrom(...checks), fc.nat(3), fc.nat(3)])(
  'an account is removed only when it is not current and no money depends on it',
  (state, checkResult, openPayments, openReversals) => {
    const removed = removeAccount({ state, checkResult }, { openPayments, openReversals });

    expect(removed.ok).toBe(state !== 'CURRENT' && openPayments === 0 && openReversals === 0);
  },
);
