import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { beginReversal } from '../../../src/core/domain/reversal.ts';
import type { Reversal } from '../../../src/core/domain/reversal.ts';
import { explainOrder } from '../../../src/core/domain/explain-order.ts';
import type {
  CoreFact,
  CoreHolder,
  ExplainedOrder,
  ExplainedStray,
  OpenProposal,
  WalletState,
} from '../../../src/core/domain/order-explanation.ts';
import { isInFlight } from '../../../src/core/domain/order.ts';
import type { PaymentAttempt } from '../../../src/core/domain/order.ts';
import type { Refund, RefundProgress } from '../../../src/core/domain/refund-record.ts';
import {
  buildAttempt,
  buildOrder,
  buildRefundFacts,
  buildWork,
  expiresAt,
  registeredAt,
} from './build-order.ts';
import { orderHistories } from './order-histories.ts';

/** The possible holders of each fact. */
const holdersOf: Readonly<Record<CoreFact, CoreHolder>> = {
  NOTHING: 'NOBODY',
  CUSTOMER_PAYMENT: 'PAYER',
  ANOTHER_PAYMENT: 'PAYER',
  MERCHANT_SUSPENDED: 'OPERATOR',
  NO_WALLET_OFFERED: 'MERCHANT',
  EXPIRY: 'CORE',
  REQUEST_SENT: 'WALLETS_PROCESS',
  WALLETS_PROCESS: 'OPERATOR',
  WALLET_RECOVERY: 'WALLET',
  WALLET_ANSWER: 'WALLET',
  PAYER_CONFIRMATION: 'PAYER',
  WALLET_DECISION: 'WALLET',
  WALLET_OUTCOME: 'WALLET',
  WALLET_REACHED: 'WALLET',
  MERCHANT_CREDENTIALS: 'MERCHANT',
  SETTLEMENT_CONFIRMATION: 'OPERATOR',
  MONEY_RETURNED: 'WALLET',
  RETURN_DECISION: 'OPERATOR',
  REFUND_APPROVAL: 'MERCHANT',
  REFUND_DECISION: 'WALLET',
  RECOVERY: 'OPERATOR',
  PAYER_PAYMENT: 'WALLET',
};

const reversals: fc.Arbitrary<Reversal> = fc
  .record({
    status: fc.constantFrom('REVERSAL_DUE' as const, 'REVERSED' as const, 'REVERSAL_REFUSED' as const),
    dueInSeconds: fc.integer({ min: -100, max: 100 }),
    isLeased: fc.boolean(),
    maybeSent: fc.boolean(),
  })
  .map(({ status, dueInSeconds, isLeased, maybeSent }): Reversal => {
    const dueAt = new Date(registeredAt.getTime() + dueInSeconds * 1000);
    const { dueAt: _, isLeased: __, ...request } = beginReversal('name', registeredAt);
    return status === 'REVERSAL_DUE'
      ? { ...request, status, maybeSent, dueAt, isLeased }
      : { ...request, status, maybeSent };
  });
const strays: fc.Arbitrary<ExplainedStray> = fc.record({
  id: fc.constant('stp_1'),
  paymentOption: fc.constant('walleta_ussd' as const),
  reversal: reversals,
  foundAt: fc.constant(registeredAt),
  isOfAttempt: fc.boolean(),
});
const progresses: fc.Arbitrary<RefundProgress> = fc.oneof(
  reversals,
  fc
    .constantFrom('AWAITING_APPROVAL' as const, 'APPROVAL_DECLINED' as const)
    .map((status) => ({ status, updatedAt: registeredAt })),
);
const refundOf = (progress: RefundProgress): Refund => ({
  ...buildRefundFacts({ minorUnits: 100n }),
  ...{ decidedBy: '', settlementId: null, progress },
});
const proposals: fc.Arbitrary<OpenProposal> = fc.record({
  subjectId: fc.constantFrom('pat_1', 'stp_1', 'rfd_1'),
  proposedAt: fc.constant(registeredAt),
  expiresAt: fc
    .integer({ min: 0, max: 7200 })
    .map((seconds) => new Date(registeredAt.getTime() + seconds * 1000)),
});
const states = fc.record({
  history: orderHistories,
  strays: fc.array(strays, { maxLength: 2 }),
  progresses: fc.array(progresses, { maxLength: 2 }),
  proposals: fc.array(proposals, { maxLength: 1 }),
  payable: fc.constantFrom('YES' as const, 'SUSPENDED' as const, 'NO_WALLET' as const),
  walletState: fc.constantFrom<WalletState>('WORKING', 'OPEN', 'SILENT'),
  isAccountRefused: fc.boolean(),
  mayBePaid: fc.boolean(),
  payerPaymentDue: fc.oneof(
    { weight: 5, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.integer({ min: -100, max: 7200 }) },
  ),
  laterSeconds: fc.integer({ min: 0, max: 7200 }),
});
type State = typeof states extends fc.Arbitrary<infer S> ? S : never;

function explainedOf({ history: { order, work }, ...state }: State): ExplainedOrder {
  const { isAccountRefused, payable, walletState, mayBePaid, payerPaymentDue } = state;
  const attempt =
    work === undefined || order.latestAttempt === null
      ? null
      : { ...work, attempt: order.latestAttempt, isAccountRefused };
  return {
    order,
    attempt,
    strays: attempt === null ? [] : state.strays,
    refunds: order.status === 'COMPLETED' ? state.progresses.map(refundOf) : [],
    proposals: state.proposals,
    payable,
    walletState: () => walletState,
    mayBePaid,
    payerPayment:
      payerPaymentDue === null || (order.latestAttempt !== null && isInFlight(order.latestAttempt))
        ? null
        : {
            wallet: 'walleta',
            reportedAt: registeredAt,
            dueAt: new Date(registeredAt.getTime() + payerPaymentDue * 1000),
          },
  };
}

test('every reachable order has one explanation, a holder who can act, and consistent times', () => {
  const facts = new Set<CoreFact>();
  fc.assert(
    fc.property(states, (state) => {
      const explained = explainedOf(state);
      const now = new Date(state.history.now.getTime() + state.laterSeconds * 1000);
      const { order, attempt } = explained;

      const explanation = explainOrder(explained, now);

      const { waitingFor, heldBy, next, nextAt, since, wallet } = explanation;
      facts.add(waitingFor);
      expect(heldBy).toBe(holdersOf[waitingFor]);
      expect(explanation.orderStatus).toBe(order.status);
      if (nextAt !== undefined) expect(nextAt.getTime()).toBeGreaterThan(now.getTime());
      if (since !== undefined) expect(since.getTime()).toBeLessThanOrEqual(now.getTime());
      expect(next === 'NONE').toBe(waitingFor === 'NOTHING');
      expect(order.status === 'PENDING' && waitingFor === 'NOTHING').toBe(false);
      if (heldBy === 'WALLET') expect(wallet).toBe('walleta');
      const takesMoney = attempt !== null && isInFlight(attempt.attempt);
      // No explanation asks for another payment, or announces the expiry, while a payment may take money or may have been lost.
      expect(
        (takesMoney || state.mayBePaid || explained.payerPayment !== null) &&
          ['CUSTOMER_PAYMENT', 'ANOTHER_PAYMENT', 'EXPIRY'].includes(waitingFor),
      ).toBe(false);
      const isMoneyOut = explained.strays.some(({ reversal }) => reversal.status !== 'REVERSED');
      if (order.status !== 'PENDING' && isMoneyOut) expect(waitingFor).not.toBe('NOTHING');
    }),
    { numRuns: 4_000, seed: 16 },
  );
  expect([...facts].sort()).toEqual(Object.keys(holdersOf).sort());
});

describe('money and payments of one order', () => {
  const quiet: ExplainedOrder = {
    order: buildOrder(),
    attempt: null,
    strays: [],
    refunds: [],
    proposals: [],
    payable: 'YES',
    walletState: () => 'WORKING',
    mayBePaid: false,
    payerPayment: null,
  };
  const now = new Date(registeredAt.getTime() + 60_000);
  const due = (isOfAttempt: boolean): ExplainedStray => ({
    id: 'stp_1',
    paymentOption: 'walleta_ussd',
    reversal: { ...beginReversal('stp_1', registeredAt), maybeSent: true, dueAt: expiresAt },
    foundAt: registeredAt,
    isOfAttempt,
  });

  /** The work of an attempt that was leased once. */
  const leased = (attempt: PaymentAttempt, maybeSent = true) => ({
    ...buildWork({ attempt, leases: 1, maybeSent }),
    isAccountRefused: false,
  });

  test('money of an attempt prevents payments of a PENDING order, and money that a payer sent does not', () => {
    const latestAttempt = buildAttempt({ status: 'DECLINED' });
    const order = buildOrder({ attemptCount: 1, latestAttempt });
    const explain = (stray: ExplainedStray) =>
      explainOrder({ ...quiet, order, attempt: leased(latestAttempt), strays: [stray] }, now).waitingFor;
    expect([explain(due(true)), explain(due(false))]).toEqual(['MONEY_RETURNED', 'ANOTHER_PAYMENT']);
  });

  test.each([
    ['timed_out', true],
    ['not_sent', false],
  ])('an ended payment is %s if it may have been sent: %s', (reason, maybeSent) => {
    const latestAttempt = buildAttempt({ status: 'TIMED_OUT' });
    const attempt = leased(latestAttempt, maybeSent);
    const pending = buildOrder({ attemptCount: 1, latestAttempt });
    const failed = buildOrder({ status: 'FAILED', attemptCount: 5, latestAttempt });
    const reasons = [pending, failed].map((order) => explainOrder({ ...quiet, order, attempt }, now).reason);
    expect(reasons).toEqual([reason, reason]);
  });

  test.each([
    ['FAILED', 0, 'cancelled'],
    ['FAILED', 1, 'cancelled'],
    ['FAILED', 5, 'wrong_pin'],
    ['EXPIRED', 0, ''],
    ['EXPIRED', 1, 'wrong_pin'],
    ['COMPLETED', 1, ''],
  ] as const)(
    'an order that is %s after %i payments ended because of: %s',
    (status, attemptCount, reason) => {
      const latestAttempt =
        attemptCount === 0 ? null : buildAttempt({ status: 'DECLINED', declineReason: 'wrong_pin' });
      const attempt = latestAttempt && leased(latestAttempt);
      const order = buildOrder({ status, attemptCount, latestAttempt });
      expect(explainOrder({ ...quiet, order, attempt }, now).reason).toBe(reason);
    },
  );

  test('a request that is not sent for 20 seconds waits for a wallets process', () => {
    const late = { ...quiet, walletState: () => 'SILENT' as const };
    const requested = buildAttempt({ createdAt: registeredAt, updatedAt: registeredAt });
    const attempt = { ...buildWork({ attempt: requested, dueAt: registeredAt }), isAccountRefused: false };
    const order = buildOrder({ attemptCount: 1, latestAttempt: attempt.attempt });
    const after = (seconds: number) =>
      explainOrder({ ...late, order, attempt }, new Date(registeredAt.getTime() + seconds * 1000)).waitingFor;
    expect([after(1), after(21)]).toEqual(['REQUEST_SENT', 'WALLETS_PROCESS']);
  });
});
