import { describe, expect, test } from '@jest/globals';
import type { Refund, RefundProgress } from '../../../src/core/domain/refund-record.ts';
import {
  approveRefund,
  createRefund,
  declineRefund,
  failureReason,
  hastenRefund,
  leaseRefund,
  recordRefundOutcome,
  refundStatus,
  settleRefund,
  type RefundStep,
} from '../../../src/core/domain/refund.ts';
import { refundLimitOf } from '../../../src/core/domain/refund-limits.ts';
import type { RefundPolicy, RefundingRole } from '../../../src/core/domain/refund-limits.ts';
import { needsApproval, refundAmount, refundable } from '../../../src/core/domain/refundable.ts';
import type { RefundBasis } from '../../../src/core/domain/refundable.ts';
import type { Result } from '../../../src/core/domain/result.ts';
import { beginReversal } from '../../../src/core/domain/reversal.ts';
import type { ReversalOutcome } from '../../../src/core/domain/reversal.ts';
import { buildAttempt, buildOrder, buildRefundFacts, buildWallet, money, valueOf } from './build-order.ts';

const at = new Date('2026-03-01T13:00:00.000Z');

const paid = buildOrder({
  status: 'COMPLETED',
  deductedMinorUnits: 10_050n,
  latestAttempt: buildAttempt({ status: 'SUCCEEDED' }),
});

const due = beginReversal('rfd_1', at);
const progressOf = {
  awaiting: { status: 'AWAITING_APPROVAL', updatedAt: at },
  declined: { status: 'APPROVAL_DECLINED', updatedAt: at },
  due,
  leased: { ...due, maybeSent: true, isLeased: true, leaseId: 'lease', dueAt: new Date(at.getTime() + 1) },
  'lease ended': { ...due, maybeSent: true, isLeased: true, leaseId: 'lease' },
  undecided: {
    ...{ ...due, maybeSent: true, leaseId: 'lease', dueAt: new Date(at.getTime() + 1) },
    ...{ detail: 'timeout', providerReference: 'W-1' },
  },
  reversed: { ...due, leaseId: 'lease', status: 'REVERSED' },
  refused: { ...due, leaseId: 'lease', status: 'REVERSAL_REFUSED' },
} satisfies Record<string, RefundProgress | Pick<RefundProgress, 'status' | 'updatedAt'>>;

function refund(minorUnits: bigint, progress: keyof typeof progressOf): Refund {
  const { refund: created } = createRefund(paid, buildRefundFacts({ minorUnits }), false);
  return { ...created, progress: progressOf[progress] };
}

const basis = (changes: Partial<RefundBasis> = {}): RefundBasis => ({
  order: paid,
  refunds: [],
  wallet: buildWallet('any'),
  isStrayToo: false,
  isAccountGone: false,
  ...changes,
});

describe('what is left of an order', () => {
  test.each<[keyof typeof progressOf, bigint]>([
    ['awaiting', 4_050n],
    ['due', 4_050n],
    ['reversed', 4_050n],
    ['declined', 10_050n],
    ['refused', 10_050n],
  ])('after a refund of 60.00 that is %s is %s minor units', (progress, leftMinorUnits) => {
    const found = refundable(basis({ refunds: [refund(6_000n, progress)] }));

    expect(found).toEqual({ ok: true, value: { leftMinorUnits, isPartial: true, decimals: 2 } });
  });

  test.each<[string, Partial<RefundBasis>, string]>([
    ['is not COMPLETED', { order: { ...paid, status: 'PENDING' } }, 'not_completed'],
    ['was paid by a transaction that goes back as stray', { isStrayToo: true }, 'stray_payment'],
    ["was paid to a merchant's own account that was removed", { isAccountGone: true }, 'account_gone'],
    ['was paid at a wallet without refunds', { wallet: buildWallet('none') }, 'wallet_cannot'],
    ['was paid at a wallet that is not configured', { wallet: undefined }, 'wallet_cannot'],
    ['is refunded already', { refunds: [refund(10_050n, 'reversed')] }, 'nothing_left'],
  ])('is nothing when it %s', (_what, changes, error) => {
    expect(refundable(basis(changes))).toEqual({ ok: false, error });
  });
});

describe('the amount of a refund', () => {
  const decide = (text: string | undefined, changes: Partial<RefundBasis> = {}) => {
    const known = basis(changes);
    const wanted = text === undefined ? undefined : money(text);
    const amount = refundAmount(known, valueOf(refundable(known)), wanted);
    return amount.ok ? amount.value : amount.error.issue;
  };
  const partly = { refunds: [refund(6_000n, 'due')] };
  const whole = { wallet: buildWallet('whole') };
  const atMost = (amount: string, of = '') => `must be at most ${amount} ETB, what is left of the order${of}`;
  const refundedAlready = ': refunds already cover 60.00 ETB of 100.50 ETB';
  const noDecimals = 'must be a whole number of ETB, because walleta takes no decimals';
  const oneDecimal = 'must have at most 1 decimals, because walleta takes no more';
  const withoutDecimals = { wallet: buildWallet('any', 0) };

  test.each<[string, string | undefined, Partial<RefundBasis>, bigint | string]>([
    ['everything', undefined, {}, 10_050n],
    ['the rest, after another refund', undefined, partly, 4_050n],
    ['the whole amount', '100.50', {}, 10_050n],
    ['the amount that is left', '40.5', partly, 4_050n],
    ['too much', '100.51', {}, atMost('100.50')],
    ['more than is left', '40.51', partly, atMost('40.50', refundedAlready)],
    ['the whole amount at a wallet that returns no parts', '100.50', whole, 10_050n],
    [
      'a part at such a wallet',
      '100',
      whole,
      'must be 100.50 ETB: walleta returns a payment only as a whole',
    ],
    ['whole birr at a wallet without decimals', '100', withoutDecimals, 10_000n],
    ['cents at a wallet without decimals', '99.50', withoutDecimals, noDecimals],
    ['the debited cents at a wallet without decimals', '100.50', withoutDecimals, 10_050n],
    ['two decimals at a wallet with one', '99.55', { wallet: buildWallet('any', 1) }, oneDecimal],
  ])('of %s', (_what, text, changes, expected) => {
    expect(decide(text, changes)).toBe(expected);
  });
});

describe('a second person', () => {
  const failed = [refund(5_000n, 'refused'), refund(5_000n, 'declined')];
  test.each<[string, string, bigint, readonly Refund[], boolean]>([
    ['without a limit', '', 10_050n, [], false],
    ['under a limit of zero', '0', 1n, [], true],
    ['at the limit', '60', 6_000n, [], false],
    ['above the limit', '60', 6_001n, [], true],
    ['above it together with a finished refund', '60', 1n, [refund(6_000n, 'reversed')], true],
    ['at it together with a refund that waits', '60', 1_000n, [refund(5_000n, 'awaiting')], false],
    ['at it after refunds that failed', '60', 6_000n, failed, false],
  ])('approves or not: %s', (_what, limit, minorUnits, refunds, needed) => {
    expect(needsApproval({ order: paid, refunds }, minorUnits, limit)).toBe(needed);
  });

  test.each([
    ['another user of the dashboard', 'dashboard:usr_a', 'dashboard:usr_b', true],
    ['the same user', 'dashboard:usr_a', 'dashboard:usr_a', false],
    ['an operator, for a user', 'dashboard:usr_a', 'operator:alice', true],
    ['another name with the same service token', 'operator:alice', 'operator:bob', false],
    ['the dashboard without a user', 'dashboard', 'dashboard', false],
  ])('approves: %s', (_what, requestedBy, by, isAnother) => {
    const asked = { ...refund(6_000n, 'awaiting'), requestedBy };
    expect(approveRefund(paid, asked, by, at)).toMatchObject(
      isAnother ? { ok: true, value: { refund: { decidedBy: by } } } : { ok: false, error: 'same_person' },
    );
  });
});

describe('each state answers each command', () => {
  const settlement = { id: 'stl_1', outcome: 'RETURNED', providerReference: 'case 7' } as const;
  test.each<[keyof typeof progressOf, ...string[]]>([
    // state, approved again by Ben, and by Carla, declined again by Ben, and by Carla, settled, leased, reported again
    [
      'declined',
      'not_awaiting',
      'not_awaiting',
      'repeat',
      'not_awaiting',
      'decided',
      'not_due',
      'lease_lost',
    ],
    ['due', 'repeat', 'not_awaiting', 'not_awaiting', 'not_awaiting', 'decided', 'leased', 'lease_lost'],
    ['leased', 'repeat', 'not_awaiting', 'not_awaiting', 'not_awaiting', 'leased', 'not_due', 'COMPLETED'],
    [
      'lease ended',
      'repeat',
      'not_awaiting',
      'not_awaiting',
      'not_awaiting',
      'COMPLETED',
      'leased',
      'COMPLETED',
    ],
    ['undecided', 'repeat', 'not_awaiting', 'not_awaiting', 'not_awaiting', 'COMPLETED', 'not_due', 'repeat'],
    ['reversed', 'repeat', 'not_awaiting', 'not_awaiting', 'not_awaiting', 'decided', 'not_due', 'repeat'],
    ['refused', 'repeat', 'not_awaiting', 'not_awaiting', 'not_awaiting', 'decided', 'not_due', 'repeat'],
  ])('%s', (state, ...answers) => {
    const before = { ...refund(6_000n, state), decidedBy: 'dashboard:ben' };
    const answerOf = (result: Result<RefundStep & { readonly isRepeat?: boolean }, string>) => {
      if (!result.ok) return result.error;
      const { refund: after, changed, isRepeat = changed === undefined } = result.value;
      expect(isRepeat).toBe(changed === undefined);
      return isRepeat ? 'repeat' : refundStatus(after);
    };
    const leased = leaseRefund(before, 'lease-2', 60_000, at);

    expect([
      ...['ben', 'carla'].map((by) => answerOf(approveRefund(paid, before, `dashboard:${by}`, at))),
      ...['ben', 'carla'].map((by) => answerOf(declineRefund(paid, before, `dashboard:${by}`, at))),
      ...[answerOf(settleRefund(paid, before, settlement, at)), leased.ok ? 'leased' : leased.error],
      answerOf(recordRefundOutcome(paid, before, 'lease', { type: 'done' }, at)),
    ]).toEqual(answers);
  });

  const later = new Date(at.getTime() + 60_000);
  const waiting = refund(6_000n, 'awaiting');
  const asked = refund(6_000n, 'undecided');
  const unnamed = { ...asked, progress: { ...progressOf.undecided, providerReference: null } };
  const notReturned = { ...settlement, outcome: 'NOT_RETURNED' as const };
  const ended = { detail: '', updatedAt: later, maybeSent: true };
  test.each([
    [
      'REFUND_APPROVED',
      approveRefund(paid, waiting, 'operator:b', later),
      { decidedBy: 'operator:b', progress: beginReversal('rfd_1', later) },
    ],
    [
      'REFUND_FAILED',
      declineRefund(paid, waiting, 'operator:b', later),
      { decidedBy: 'operator:b', progress: { status: 'APPROVAL_DECLINED', updatedAt: later } },
    ],
    [
      'REFUND_COMPLETED',
      settleRefund(paid, asked, settlement, later),
      { settlementId: 'stl_1', progress: { ...ended, status: 'REVERSED', providerReference: 'W-1' } },
    ],
    [
      'REFUND_FAILED',
      settleRefund(paid, unnamed, notReturned, later),
      {
        settlementId: 'stl_1',
        progress: { ...ended, status: 'REVERSAL_REFUSED', providerReference: 'case 7' },
      },
    ],
  ])('and the event has the changed refund: %s', (type, result, changes) => {
    const { refund: after, changed } = valueOf<RefundStep>(result);
    const { settlementId } = after;
    const { order, events } = changed ?? { order: undefined, events: [] };

    expect(after).toMatchObject(changes);
    expect(order?.refundedMinorUnits).toBe(type === 'REFUND_COMPLETED' ? 6_000n : 0n);
    const event = {
      type,
      sequence: paid.lastEventSequence + 1,
      occurredAt: later,
      previousStatus: 'COMPLETED',
    };
    const named = settlementId === null ? {} : { settlementId };
    expect(events).toEqual([{ ...event, order, attempt: null, refund: after, ...named }]);
  });

  test('a refund above the limit waits for approval, and any other is due', () => {
    expect(
      [true, false].map(
        (needed) => createRefund(paid, { ...waiting, createdAt: at }, needed).refund.progress,
      ),
    ).toEqual([progressOf.awaiting, beginReversal('rfd_1', at)]);
  });

  test('a FAILED refund has the reason why', () => {
    const refused = refund(6_000n, 'refused');
    const withReason = { ...progressOf.refused, refusalReason: 'account_state' };
    const reasons = [
      ...[asked, refund(6_000n, 'reversed'), refund(6_000n, 'declined'), refused],
      ...[
        { ...refused, progress: withReason },
        { ...refused, settlementId: 'stl_1' as const },
      ],
    ].map(failureReason);
    const ofFailed = ['approval_declined', 'provider_error', 'account_state', 'settled_by_operator'];
    expect(reasons).toEqual(['', '', ...ofFailed]);
  });

  test('a hint makes a refund due only when it is with the wallet', () => {
    const dueAtOf = ({ progress }: Refund) => ('dueAt' in progress ? progress.dueAt : undefined);
    const waitingForLater = { ...asked, progress: { ...progressOf.undecided, dueAt: later } };
    expect([waiting, waitingForLater].map((each) => dueAtOf(hastenRefund(each, at)))).toEqual([
      undefined,
      at,
    ]);
  });
});

describe("a wallet's answer to a refund", () => {
  const refused = { type: 'refused', reason: 'limit_exceeded', detail: '' } as const;
  test.each<[string, ReversalOutcome, string, string | null]>([
    ['done', { type: 'done' }, 'COMPLETED', 'REFUND_COMPLETED'],
    ['a definite refusal', { ...refused, definite: true }, 'FAILED', 'REFUND_FAILED'],
    [
      'a refusal while an earlier request may have returned it',
      { ...refused, definite: false },
      'UNKNOWN',
      null,
    ],
    ['no decision yet', { type: 'pending', providerReference: 'W-1', detail: '' }, 'SENT', null],
    ['a lost answer', { type: 'pending', providerReference: '', detail: 'timeout' }, 'UNKNOWN', null],
    ['nothing sent', { type: 'not_sent', detail: 'no connection' }, 'REQUESTED', null],
  ])('is recorded: %s', (_what, outcome, status, event) => {
    const leased = valueOf(leaseRefund(refund(6_000n, 'due'), 'lease', 60_000, at));

    const recorded = valueOf(recordRefundOutcome(paid, leased.refund, 'lease', outcome, at));

    expect(refundStatus(recorded.refund)).toBe(status);
    expect(recorded.changed?.events.map(({ type }) => type)).toEqual(event === null ? undefined : [event]);
  });

  test.each([
    ['closed', 'account_state', 'closed'],
    ['', 'account_state', 'account_state'],
    ['', '', 'refused'],
  ])('is told to people if it is indefinite: "%s", "%s"', (detail, reason, told) => {
    const answer = { type: 'refused', reason, detail, definite: false } as const;
    const { progress } = valueOf(
      recordRefundOutcome(paid, refund(6_000n, 'leased'), 'lease', answer, at),
    ).refund;
    expect(progress).toMatchObject({ status: 'REVERSAL_DUE', detail: told });
  });
});

const policy: RefundPolicy = {
  refundApprovalLimits: { ETB: '1000', USD: '20' },
  refundRoleLimits: { DEVELOPER: { ETB: '200' }, OWNER: { ETB: '5000', KES: '0' } },
};

test.each<[RefundingRole | undefined, string, string, RefundingRole | undefined]>([
  ['DEVELOPER', 'ETB', '200', 'DEVELOPER'],
  ['OWNER', 'ETB', '5000', 'OWNER'],
  ['OWNER', 'KES', '0', 'OWNER'],
  ['OWNER', 'USD', '20', undefined],
  ['DEVELOPER', 'KES', '', undefined],
  [undefined, 'ETB', '1000', undefined],
  [undefined, 'KES', '', undefined],
])('the limit of %s in %s is "%s"', (role, currency, amount, holder) => {
  expect(refundLimitOf(policy, role, currency)).toEqual({ amount, role: holder });
});
