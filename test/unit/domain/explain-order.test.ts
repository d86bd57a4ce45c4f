import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { beginReversal } from '../../../src/core/domain/reversal.ts';
import type { Reversal } from '../../../src/core/domain/reversal.ts';
import { explainOrder } from '../../../src/core/domain/explain-order.ts';
import type {
  CoreFact,
  CoreHolder,
  ExplainedAttempt,
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
  WALLET_ACCOUNT_KEY: 'OPERATOR',
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
  walletState: fc.constantFrom<WalletState>('WORKING', 'CIRCUIT_OPEN', 'SILENT'),
  accountProblem: fc.constantFrom(undefined, 'REFUSED' as const, 'UNREADABLE' as const),
  mayBePaid: fc.boolean(),
  payerPaymentDue: fc.oneof(
    { weight: 5, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.integer({ min: -100, max: 7200 }) },
  ),
  laterSeconds: fc.integer({ min: 0, max: 7200 }),
});
type State = typeof states extends fc.Arbitrary<infer S> ? S : never;

function explainedOf({ history: { order, work }, ...state }: State): ExplainedOrder {
  const { accountProblem, payable, walletState, mayBePaid, payerPaymentDue } = state;
  const attempt =
    work === undefined || order.latestAttempt === null
      ? null
      : { ...work, attempt: order.latestAttempt, accountProblem };
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
    accountProblem: undefined,
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

  const at = (seconds: number) => new Date(registeredAt.getTime() + seconds * 1000);
  const inSeconds = (time: Date | undefined) =>
    time === undefined ? '-' : String((time.getTime() - registeredAt.getTime()) / 1000);
  const words = (explained: Partial<ExplainedOrder>, when = now) => {
    const { waitingFor, heldBy, next, nextAt, since } = explainOrder({ ...quiet, ...explained }, when);
    return [waitingFor, heldBy, next, inSeconds(nextAt), inSeconds(since)].join(' ');
  };
  const open = { walletState: () => 'CIRCUIT_OPEN' as const };
  const silent = { walletState: () => 'SILENT' as const };
  const proposed = (subjectId: string, seconds = 120) => ({
    proposals: [{ subjectId, proposedAt: at(30), expiresAt: at(seconds) }],
  });
  const confirmation = 'SETTLEMENT_CONFIRMATION OPERATOR SETTLEMENT_CONFIRMED 120 30';
  const recovery = 'WALLET_RECOVERY WALLET WALLET_CHECKED - ';

  const sent = { maybeSent: true, dueAt: at(90), promptUntil: at(100) };
  const leasedNow = { ...sent, dueAt: now, leasedUntil: at(90) };
  const refusedAccount = { accountProblem: 'REFUSED' } as const;
  const unreadable = { accountProblem: 'UNREADABLE' } as const;
  const key = 'WALLET_ACCOUNT_KEY OPERATOR KEY_RESTORED - 10';
  const credentials = 'MERCHANT_CREDENTIALS MERCHANT CREDENTIALS_CORRECTED - 10';
  test.each<[PaymentAttempt['status'], Partial<ExplainedAttempt>, Partial<ExplainedOrder>, string]>([
    ['REQUESTED', { dueAt: at(90) }, {}, 'REQUEST_SENT WALLETS_PROCESS REQUEST_SENT 90 10'],
    ['UNKNOWN', sent, {}, 'WALLET_OUTCOME WALLET WALLET_QUERIED 90 10'],
    ['SENT', sent, {}, 'PAYER_CONFIRMATION PAYER WALLET_QUERIED 90 10'],
    ['SENT', { ...sent, dueAt: now }, {}, 'PAYER_CONFIRMATION PAYER WALLET_QUERIED - 10'],
    ['SENT', { ...sent, leasedUntil: at(90) }, {}, 'PAYER_CONFIRMATION PAYER WALLET_QUERIED - 10'],
    ['SENT', { ...sent, leasedUntil: now }, {}, 'PAYER_CONFIRMATION PAYER WALLET_QUERIED 90 10'],
    ['SENT', { ...sent, promptUntil: at(50) }, {}, 'WALLET_DECISION WALLET WALLET_QUERIED 90 50'],
    ['SENT', { dueAt: at(90), leasedUntil: at(90) }, {}, 'WALLET_ANSWER WALLET WALLET_QUERIED - 10'],
    ['SENT', { dueAt: at(90) }, {}, 'WALLET_REACHED WALLET REQUEST_SENT 90 10'],
    ['SENT', { dueAt: at(90), ...refusedAccount }, {}, credentials],
    ['UNKNOWN', { ...sent, ...refusedAccount }, {}, credentials],
    ['SENT', { ...sent, ...refusedAccount }, {}, 'PAYER_CONFIRMATION PAYER WALLET_QUERIED 90 10'],
    ['SENT', { dueAt: at(90), ...unreadable }, {}, key],
    ['SENT', { ...sent, ...unreadable }, open, key],
    ['SENT', { ...sent, ...unreadable }, proposed('pat_1'), confirmation],
    ['SENT', { ...sent, dueAt: now }, open, `${recovery}10`],
    ['SENT', sent, open, 'PAYER_CONFIRMATION PAYER WALLET_QUERIED 90 10'],
    ['SENT', leasedNow, open, 'PAYER_CONFIRMATION PAYER WALLET_QUERIED - 10'],
    ['SENT', { ...sent, dueAt: at(40) }, silent, 'WALLETS_PROCESS OPERATOR PROCESS_STARTED - 10'],
    ['SENT', { ...sent, dueAt: at(41) }, silent, 'PAYER_CONFIRMATION PAYER WALLET_QUERIED - 10'],
    ['SENT', sent, proposed('pat_1'), confirmation],
    ['SENT', sent, proposed('pat_1', 60), 'PAYER_CONFIRMATION PAYER WALLET_QUERIED 90 10'],
    ['SENT', sent, proposed('pat_2'), 'PAYER_CONFIRMATION PAYER WALLET_QUERIED 90 10'],
    ['DECLINED', sent, {}, 'ANOTHER_PAYMENT PAYER ORDER_EXPIRES 1800 10'],
  ])('a payment that is %s, %j, %j', (status, work, changes, expected) => {
    const latestAttempt = buildAttempt({ id: 'pat_1', status, updatedAt: at(10) });
    const order = buildOrder({ attemptCount: 1, latestAttempt });
    expect(words({ order, attempt: { ...leased(latestAttempt, false), ...work }, ...changes })).toBe(
      expected,
    );
  });

  const reversal = { ...beginReversal('stp_1', registeredAt), maybeSent: true, dueAt: at(90) };
  test.each<[object, Partial<ExplainedOrder>, string]>([
    [{}, {}, 'WALLET WALLET_QUERIED 90 20'],
    [{ isLeased: true }, {}, 'WALLET WALLET_QUERIED - 20'],
    [{ dueAt: now }, {}, 'WALLET WALLET_QUERIED - 20'],
    [{ maybeSent: false }, {}, 'REQUEST_SENT WALLETS_PROCESS REQUEST_SENT 90 20'],
    [{ dueAt: now }, open, `${recovery}20`],
    [{}, proposed('rfd_2'), confirmation],
  ])('money on its way back, %j, %j', (changes, explained, expected) => {
    const progress = { ...reversal, ...changes } as Reversal;
    const stray = { ...due(true), id: 'rfd_2', foundAt: at(20), reversal: progress };
    const refund = { ...refundOf(progress), id: 'rfd_2' as const, createdAt: at(20) };
    const order = buildOrder({ status: 'COMPLETED' });
    expect(words({ order, strays: [stray], ...explained })).toBe(
      expected.replace(/^WALLET /, 'MONEY_RETURNED WALLET '),
    );
    expect(words({ order, refunds: [refund], ...explained })).toBe(
      expected.replace(/^WALLET /, 'REFUND_DECISION WALLET '),
    );
  });

  test('money that waits for people, a stray payment before a refund', () => {
    const refused = { ...reversal, status: 'REVERSAL_REFUSED', updatedAt: at(40) } as const;
    const order = buildOrder({ status: 'COMPLETED' });
    const awaiting = { ...refundOf({ status: 'AWAITING_APPROVAL', updatedAt: at(40) }), createdAt: at(20) };
    expect([
      words({ order, strays: [{ ...due(true), reversal: refused }], refunds: [awaiting] }),
      words({ order, refunds: [refundOf(refused), awaiting] }),
    ]).toEqual([
      'RETURN_DECISION OPERATOR RETURN_DECIDED - 40',
      'REFUND_APPROVAL MERCHANT REFUND_APPROVED - 20',
    ]);
  });

  test('a payment in progress comes before other money, and returned money waits for nothing', () => {
    const latestAttempt = buildAttempt({ status: 'SENT', updatedAt: at(10) });
    const pending = buildOrder({ attemptCount: 1, latestAttempt });
    const completed = buildOrder({ status: 'COMPLETED', updatedAt: at(50) });
    const returned = { ...due(true), reversal: { ...reversal, status: 'REVERSED' as const } };
    expect([
      words({ order: pending, attempt: { ...leased(latestAttempt), ...sent }, strays: [due(true)] }),
      words({ order: completed, strays: [returned] }),
    ]).toEqual(['PAYER_CONFIRMATION PAYER WALLET_QUERIED 90 10', 'NOTHING NOBODY NONE - 50']);
  });

  test('a direct order is FAILED for the reason of its only payment', () => {
    const latestAttempt = buildAttempt({ status: 'DECLINED', declineReason: 'wrong_pin' });
    const order = buildOrder({ status: 'FAILED', paymentType: 'DIRECT', attemptCount: 1, latestAttempt });
    expect(explainOrder({ ...quiet, order, attempt: leased(latestAttempt) }, now).reason).toBe('wrong_pin');
  });

  const payer = (seconds: number) => ({
    payerPayment: { wallet: 'walleta', reportedAt: at(5), dueAt: at(seconds) },
  });
  test.each<[Partial<ExplainedOrder>, string, Date?]>([
    [{ mayBePaid: true }, 'RECOVERY OPERATOR RECOVERY_COMPLETED - -'],
    [{ payable: 'SUSPENDED' }, 'MERCHANT_SUSPENDED OPERATOR ORDER_EXPIRES 1800 0'],
    [{ payable: 'NO_WALLET' }, 'NO_WALLET_OFFERED MERCHANT WALLET_OFFERED 1800 0'],
    [{}, 'CUSTOMER_PAYMENT PAYER ORDER_EXPIRES 1800 0'],
    [{}, 'EXPIRY CORE ORDER_EXPIRES - 1800', expiresAt],
    [payer(90), 'PAYER_PAYMENT WALLET WALLET_QUERIED 90 5'],
    [payer(60), 'PAYER_PAYMENT WALLET WALLET_QUERIED - 5'],
    [{ ...payer(60), ...open }, `${recovery}5`],
  ])('an order without a payment, %j: %s', (changes, expected, when = now) => {
    expect(words(changes, when)).toBe(expected);
  });
});
