import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  blockersOf,
  causeOfRecovery,
  closedEnvironments,
  datesOf,
  statementAfter,
  streamAfter,
  walletAfter,
} from '../../../src/core/domain/recovery.ts';
import type {
  Recovery,
  StatementState,
  StreamState,
  WalletCheck,
} from '../../../src/core/domain/recovery.ts';

const here = { recordedLocation: 'here', location: 'here', hasNewestEvent: true };

test.each([
  [
    'the first start of a new database',
    { ...here, recordedLocation: undefined, hasNewestEvent: undefined },
    undefined,
  ],
  ['the same server and events as before', here, undefined],
  ['a broker without events of the database', { ...here, hasNewestEvent: undefined }, undefined],
  ['another database server', { ...here, location: 'there' }, 'NEW_HOME'],
  [
    'another database server with the newest event',
    { ...here, location: 'there', hasNewestEvent: true },
    'NEW_HOME',
  ],
  ['a newer event in the stream', { ...here, hasNewestEvent: false }, 'STREAM_AHEAD'],
] as const)('recovery starts when it must, and only then: %s', (_, evidence, cause) => {
  expect(causeOfRecovery(evidence)).toBe(cause);
});

test.each([
  [{ messages: 0, beginsInDatabase: false, isContinuous: true }, 'LOST'],
  [{ messages: 3, beginsInDatabase: true, isContinuous: true }, 'COMPLETE'],
  [{ messages: 3, beginsInDatabase: false, isContinuous: true }, 'PARTIAL'],
  [{ messages: 3, beginsInDatabase: true, isContinuous: false }, 'PARTIAL'],
] as const)('a stream read as %j is %s', (read, state) => {
  expect(streamAfter(read)).toBe(state);
});

const check = (over: Partial<WalletCheck>): WalletCheck => ({
  environment: 'SANDBOX',
  wallet: 'walleta',
  hasStatement: true,
  state: 'WAITING',
  ...over,
});

describe('an environment', () => {
  const recovery: Recovery = {
    stream: 'COMPLETE',
    openConflicts: 0,
    wallets: [
      check({}),
      check({ wallet: 'telebirr', hasStatement: false }),
      check({ wallet: 'walletb', state: 'READ' }),
      check({ environment: 'PRODUCTION', state: 'ACCEPTED' }),
    ],
  };

  test('waits for the stream, for conflicts, for each statement, and for operators', () => {
    expect(blockersOf({ ...recovery, stream: 'WAITING', openConflicts: 2 }, 'SANDBOX')).toEqual([
      { type: 'stream' },
      { type: 'conflicts' },
      { type: 'statement', wallet: 'walleta' },
      { type: 'operator', wallet: 'telebirr' },
    ]);
  });

  test('opens independently of the other one', () => {
    expect(closedEnvironments(recovery)).toEqual(['SANDBOX']);
  });

  test('is never open while anything about its wallets is unknown', () => {
    const state = fc.constantFrom('WAITING', 'READ', 'ACCEPTED');
    const environment = fc.constantFrom('SANDBOX', 'PRODUCTION');
    const wallet = fc.record({ environment, state, hasStatement: fc.boolean(), wallet: fc.string() });
    const any = fc.record({
      stream: fc.constantFrom('WAITING', 'COMPLETE', 'PARTIAL', 'LOST'),
      openConflicts: fc.nat(2),
      wallets: fc.array(wallet),
    });
    fc.assert(
      fc.property(any, environment, (each, asked) => {
        const isKnown =
          each.stream !== 'WAITING' &&
          each.openConflicts === 0 &&
          each.wallets.every((own) => own.environment !== asked || own.state !== 'WAITING');
        expect(!closedEnvironments(each).includes(asked)).toBe(isKnown);
      }),
    );
  });
});

test('the days of the lost time begin and end in UTC, and are empty when they are too many', () => {
  const from = new Date('2026-02-27T23:59:59.999Z');
  expect(datesOf(from, new Date('2026-03-01T00:00:00Z'), 31)).toEqual([
    '2026-02-27',
    '2026-02-28',
    '2026-03-01',
  ]);
  expect(datesOf(from, from, 1)).toEqual(['2026-02-27']);
  expect(datesOf(from, new Date('2026-03-01T00:00:00Z'), 2)).toBeUndefined();
});

test('the day of a restore is read although a wrong clock says that the lost time begins later', () => {
  const until = new Date('2026-02-27T10:00:00Z');
  expect(datesOf(new Date('2026-03-05T10:00:00Z'), until, 31)).toEqual(['2026-02-27']);
});

const done = { isDone: true, isFailing: false };
const open = { isDone: false, isFailing: false };
const failing = { isDone: false, isFailing: true };

test.each([
  ['all days read', [done, done], false, 'READ'],
  ['one day not read', [done, open], false, 'READING'],
  ['one day failing', [open, failing, done], false, 'FAILING'],
  ['a day that failed and was read later', [done, { isDone: true, isFailing: true }], false, 'READ'],
  ['a removed account', [open, failing], true, 'REMOVED'],
  ['an account that was removed after its statement was read', [done, done], true, 'READ'],
] as const)('recovery waits for a statement as long as it must: %s', (_, days, isRemoved, state) => {
  expect(statementAfter(days, isRemoved)).toBe(state);
});

const waits = { state: 'WAITING', hasStatement: true, obstacle: '' };
const isRead = { state: 'READ', hasStatement: true, obstacle: '' };
const needsOperator = { state: 'WAITING', hasStatement: false, obstacle: 'own_accounts' };

type Accounts = 'never' | 'once' | 'accepted' | 'unnamed';

test.each([
  // Also when the first own account was added in the lost time. The recovery names that question without waiting for the answer.
  ['its statement read, at a gateway without own accounts', 'LOST', 'READ', 'never', isRead],
  ['its statement unread', 'COMPLETE', 'READING', 'never', waits],
  ['its statement failing', 'COMPLETE', 'FAILING', 'once', waits],
  ['its statement read, and the stream complete', 'COMPLETE', 'READ', 'once', isRead],
  ['its statement read, and the stream lost', 'LOST', 'READ', 'once', needsOperator],
  ['its statement read, and the stream with gaps', 'PARTIAL', 'READ', 'once', needsOperator],
  ['an answer for the accounts', 'LOST', 'READ', 'accepted', isRead],
  ['an answer for the accounts, and its statement unread', 'LOST', 'READING', 'accepted', waits],
  ['its statement unread, and the stream lost', 'LOST', 'READING', 'once', waits],
  ['an account without a payee', 'COMPLETE', 'READ', 'unnamed', waits],
] as readonly (readonly [string, StreamState, StatementState, Accounts, object])[])(
  'recovery waits for a wallet as long as it must: %s',
  (_, stream, statement, accounts, after) => {
    const read = {
      usesOwnAccounts: accounts !== 'never',
      areAccountsAccepted: accounts === 'accepted',
      hasUnnamedAccounts: accounts === 'unnamed',
    };
    expect(walletAfter({ stream, statement, ...read })).toEqual(after);
  },
);
