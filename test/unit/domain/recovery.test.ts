import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  blockersOf,
  causeOfRecovery,
  closedEnvironments,
  datesOf,
  streamAfter,
} from '../../../src/core/domain/recovery.ts';
import type { Recovery, WalletCheck } from '../../../src/core/domain/recovery.ts';

const here = { knownHome: 'here', home: 'here', hasNewestEvent: true };

test.each([
  [
    'the first start of a new database',
    { ...here, knownHome: undefined, hasNewestEvent: undefined },
    undefined,
  ],
  ['the database as it was', here, undefined],
  ['a broker without events of the database', { ...here, hasNewestEvent: undefined }, undefined],
  ['another home', { ...here, home: 'there' }, 'NEW_HOME'],
  ['another home, with the newest event', { ...here, home: 'there', hasNewestEvent: true }, 'NEW_HOME'],
  ['a newer event in the stream', { ...here, hasNewestEvent: false }, 'STREAM_AHEAD'],
] as const)('%s', (_, witnesses, cause) => {
  expect(causeOfRecovery(witnesses)).toBe(cause);
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
