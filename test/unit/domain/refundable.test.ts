import { describe, expect, test } from '@jest/globals';
import type { Refund, RefundProgress } from '../../../src/core/domain/refund-record.ts';
import {
  approveRefund,
  createRefund,
  leaseRefund,
  recordRefundOutcome,
  refundStatus,
} from '../../../src/core/domain/refund.ts';
import { refundLimitOf } from '../../../src/core/domain/refund-limits.ts';
import type { RefundPolicy, RefundingRole } from '../../../src/core/domain/refund-limits.ts';
import { needsApproval, refundAmount, refundable } from '../../../src/core/domain/refundable.ts';
import type { RefundBasis } from '../../../src/core/domain/refundable.ts';
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
  reversed: { ...due, status: 'REVERSED' },
  refused: { ...due, status: 'REVERSAL_REFUSED' },
} satisfies Record<string, { readonly status: RefundProgress['status']; readonly updatedAt: Date }>;

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
