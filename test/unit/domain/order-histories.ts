import fc from 'fast-check';
import type { AttemptWork } from '../../../src/core/domain/attempt-work.ts';
import { decideLease } from '../../../src/core/domain/attempt-work.ts';
import type { OrderInFull, PaymentType } from '../../../src/core/domain/order.ts';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { transition } from '../../../src/core/domain/transition.ts';
import { decideOutcome } from '../../../src/core/domain/wallet-outcome.ts';
import type { WalletOutcome } from '../../../src/core/domain/wallet-outcome.ts';
import { buildFacts, buildWork, phone, registeredAt } from './build-order.ts';

// Workers lease attempts and report every outcome of wallets, in any sequence and at any time.

type Move =
  | { readonly type: 'pay' | 'lease' | 'expire' | 'cancel' }
  | { readonly type: 'report'; readonly outcome: WalletOutcome; readonly isRepeated: boolean };

const completed = fc
  .record({
    transaction: fc.constantFrom('TX-1', 'TX-2', 'TX-3'),
    amount: fc.constantFrom('100.50', '100.50', '100.5', '99.00', '100.501'),
    currency: fc.constantFrom('ETB', 'ETB', 'ETB', 'USD', 'GOLD'),
  })
  .map(({ transaction, amount, currency }): WalletOutcome => ({
    type: 'completed',
    providerTransactionId: transaction,
    amount,
    currency,
  }));
const unpaid = fc.constantFrom<WalletOutcome>(
  { type: 'pending', providerReference: 'ref' },
  { type: 'declined', reason: 'wrong_pin' },
  { type: 'timed_out' },
  { type: 'unknown', detail: '' },
  { type: 'not_reached', detail: '' },
);
const report = fc
  .record({ outcome: fc.oneof(completed, unpaid), isRepeated: fc.boolean() })
  .map((one): Move => ({ type: 'report', ...one }));
const asking = fc.constantFrom<Move>({ type: 'pay' }, { type: 'lease' }, { type: 'lease' });
const ending = fc.constantFrom<Move>({ type: 'expire' }, { type: 'cancel' });
const moves = fc.array(
  fc.record({
    move: fc.oneof(
      { weight: 6, arbitrary: asking },
      { weight: 5, arbitrary: report },
      { weight: 1, arbitrary: ending },
    ),
    seconds: fc.integer({ min: 0, max: 120 }),
  }),
  { maxLength: 40, size: 'max' },
);

type Becomes = 'payment' | 'stray' | 'neither' | 'both';

export interface OrderHistory {
  readonly order: OrderInFull;
  /** The latest attempt with its work; undefined before the first. */
  readonly work: AttemptWork | undefined;
  /** The time of the last move. */
  readonly now: Date;
  /** The result of each payment. */
  readonly told: readonly Becomes[];
  readonly sentUnleased: boolean;
}

/** Applies the moves to one order with its latest attempt. */
function live(
  paymentType: PaymentType,
  steps: readonly { readonly move: Move; readonly seconds: number }[],
): OrderHistory {
  let { order } = registerOrder(buildFacts({ paymentType }));
  let work: AttemptWork | undefined;
  let time = registeredAt.getTime();
  let sentUnleased = false;
  const told: Becomes[] = [];
  const apply = (after: OrderInFull | undefined): void => {
    order = after ?? order;
    const latest = order.latestAttempt;
    if (work !== undefined && latest?.id === work.attempt.id) work = { ...work, attempt: latest };
  };
  const reportTo = (at: AttemptWork, outcome: WalletOutcome, now: Date): void => {
    const leaseId = at.leaseId ?? 'none';
    const decided = decideOutcome(order, at, { leaseId, outcome, retryAfterMs: 0 }, false, {
      now,
      reachedAt: now,
    });
    if (!decided.ok || decided.value.isRepeat) return;
    const { changed, stray, attempt, dueAt, maybeSent, updates } = decided.value;
    const providerTransactionId = updates.providerTransactionId ?? at.providerTransactionId;
    apply(changed?.order);
    work = { ...at, attempt, dueAt, maybeSent, providerTransactionId, leasedUntil: null };
    if (outcome.type !== 'completed') return;
    const isPayment = changed?.order.status === 'COMPLETED';
    const isStray = stray?.money.providerTransactionId === outcome.providerTransactionId;
    told.push(isPayment ? (isStray ? 'both' : 'payment') : isStray ? 'stray' : 'neither');
  };
  for (const { move, seconds } of steps) {
    time += seconds * 1000;
    const now = new Date(time);
    if (move.type === 'pay') {
      const attemptId = `pat_${order.attemptCount + 1}` as const;
      const command = { attemptId, origin: 'CHECKOUT', paymentOption: 'walleta_ussd' } as const;
      const paid = transition(order, { type: 'start_payment', ...command, phone: phone('0911223344') }, now);
      if (!paid.ok || paid.value.order.latestAttempt === null) continue;
      order = paid.value.order;
      const promptUntil = new Date(time + 180_000);
      work = buildWork({ attempt: paid.value.order.latestAttempt, dueAt: now, promptUntil });
    } else if (move.type === 'lease' && work !== undefined) {
      const decided = decideLease(order, work, 30_000, now);
      if (!decided.ok) continue;
      const { changed, attempt, lease } = decided.value;
      apply(changed?.order);
      work =
        lease === undefined
          ? { ...work, attempt, dueAt: null }
          : {
              ...work,
              attempt,
              leaseId: `lease-${work.leases + 1}`,
              leasedUntil: lease.leasedUntil,
              dueAt: lease.leasedUntil,
              leases: work.leases + 1,
              maybeSent: lease.sentBefore,
            };
    } else if (move.type === 'expire' || move.type === 'cancel') {
      const ended = transition(order, { type: move.type }, now);
      if (ended.ok) apply(ended.value.order);
    } else if (move.type === 'report' && work !== undefined) {
      reportTo(work, move.outcome, now);
      if (move.isRepeated) reportTo(work, move.outcome, now);
    }
    const status = work?.attempt.status;
    if ((status === 'SENT' || status === 'UNKNOWN') && work?.leaseId === null) sentUnleased = true;
  }
  return { order, work, now: new Date(time), told, sentUnleased };
}

export const orderHistories: fc.Arbitrary<OrderHistory> = fc
  .tuple(fc.constantFrom<PaymentType>('API', 'DIRECT'), moves)
  .map(([paymentType, steps]) => live(paymentType, steps));
