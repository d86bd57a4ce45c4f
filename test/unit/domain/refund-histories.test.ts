import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { OrderEvent, OrderInFull } from '../../../src/core/domain/order.ts';
import type { Refund } from '../../../src/core/domain/refund-record.ts';
import {
  approveRefund,
  createRefund,
  declineRefund,
  hastenRefund,
  heldMinorUnits,
  leaseRefund,
  recordRefundOutcome,
  refundStatus,
  settleRefund,
} from '../../../src/core/domain/refund.ts';
import type { RefundStatus } from '../../../src/core/domain/refund.ts';
import { needsApproval, refundAmount, refundable } from '../../../src/core/domain/refundable.ts';
import type { ReversalOutcome } from '../../../src/core/domain/reversal.ts';
import { buildAttempt, buildOrder, buildRefundFacts, buildWallet, money } from './build-order.ts';
import { forAll } from '../../support/for-all.ts';

const etb = money('1').currency;
const deducted = 10_050n;
const paid = buildOrder({
  status: 'COMPLETED',
  deductedMinorUnits: deducted,
  latestAttempt: buildAttempt({ status: 'SUCCEEDED' }),
  lastEventSequence: 3,
});
const limit = '60';
const start = Date.UTC(2026, 2, 1, 13);

/** The wallet's decision about the request of one name. It pays at most once, whatever it answers. */
interface Ledger {
  readonly paidOut: Map<string, bigint>;
}

type Move =
  /** An amount, the rest of the order, or one minor unit more than the rest. */
  | {
      readonly type: 'create';
      readonly minorUnits: bigint | 'whatever is left' | 'too much';
      readonly by: 'anna' | 'ben';
    }
  | { readonly type: 'approve' | 'decline'; readonly index: number; readonly by: 'anna' | 'ben' }
  | { readonly type: 'lease' | 'hasten' | 'crash'; readonly index: number }
  /** The wallet executes the request or refuses it definitely, and its answer arrives or is lost. */
  | {
      readonly type: 'answer';
      readonly index: number;
      readonly executes: boolean;
      readonly answer: 'definite' | 'indefinite' | 'lost';
    }
  | { readonly type: 'settle'; readonly index: number }
  | { readonly type: 'stray' };

const index = fc.nat({ max: 5 });
const by = fc.constantFrom('anna' as const, 'ben' as const);
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('create' as const),
      minorUnits: fc.oneof(
        { weight: 4, arbitrary: fc.bigInt({ min: 1n, max: 11_000n }) },
        fc.constantFrom('whatever is left' as const, 'too much' as const),
      ),
      by,
    }),
  },
  fc.record({ type: fc.constantFrom('approve' as const, 'decline' as const), index, by }),
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('lease' as const, 'hasten' as const, 'crash' as const),
      index,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('answer' as const),
      index,
      executes: fc.boolean(),
      answer: fc.constantFrom('definite' as const, 'indefinite' as const, 'lost' as const),
    }),
  },
  fc.record({ type: fc.constant('settle' as const), index }),
  fc.constant({ type: 'stray' as const }),
);
const histories = fc.record({
  refunds: fc.constantFrom('any' as const, 'whole' as const),
  moves: fc.array(move, { maxLength: 60, size: 'max' }),
});

interface World {
  readonly order: OrderInFull;
  readonly refunds: readonly Refund[];
  readonly events: readonly OrderEvent[];
  readonly ledger: Ledger;
  readonly isStrayToo: boolean;
}

/** Plays a history, and calls `check` after each step with the state before and after it. */
function play(
  { refunds: capability, moves }: { readonly refunds: 'any' | 'whole'; readonly moves: readonly Move[] },
  check: (world: World, before: World) => void,
): World {
  let world: World = {
    order: paid,
    refunds: [],
    events: [],
    ledger: { paidOut: new Map() },
    isStrayToo: false,
  };
  const leases = new Map<string, string>();
  for (const [step, each] of moves.entries()) {
    const now = new Date(start + step * 3_700_000);
    const before = world;
    world = next(world, each, now, step);
    check(world, before);
  }
  return world;

  function next(current: World, each: Move, now: Date, step: number): World {
    const { order, refunds, ledger } = current;
    const put = (refund: Refund, changed?: { order: OrderInFull; events: readonly OrderEvent[] }): World => ({
      ...current,
      order: changed?.order ?? order,
      refunds: refunds.some(({ id }) => id === refund.id)
        ? refunds.map((one) => (one.id === refund.id ? refund : one))
        : [...refunds, refund],
      events: [...current.events, ...(changed?.events ?? [])],
    });
    if (each.type === 'stray') return { ...current, isStrayToo: refunds.length === 0 };
    if (each.type === 'create') {
      const basis = {
        order,
        refunds,
        wallet: buildWallet(capability),
        isStrayToo: current.isStrayToo,
        isAccountGone: false,
      };
      const possible = refundable(basis);
      if (!possible.ok) return current;
      const { leftMinorUnits } = possible.value;
      const minorUnits = each.minorUnits === 'too much' ? leftMinorUnits + 1n : each.minorUnits;
      const wanted = minorUnits === 'whatever is left' ? undefined : { text: '', minorUnits, currency: etb };
      const amount = refundAmount(basis, possible.value, wanted);
      if (!amount.ok) return current;
      const facts = buildRefundFacts({
        ...{ id: `rfd_${step}`, refundNumber: `R-${step}`, minorUnits: amount.value, createdAt: now },
        ...{ isAmountGiven: wanted !== undefined, requestedBy: `dashboard:${each.by}` },
      });
      const made = createRefund(order, facts, needsApproval(basis, amount.value, limit));
      return put(made.refund, made.changed);
    }
    const refund = refunds[each.index % Math.max(1, refunds.length)];
    if (refund === undefined) return current;
    switch (each.type) {
      case 'approve':
      case 'decline': {
        const decide = each.type === 'approve' ? approveRefund : declineRefund;
        const decided = decide(order, refund, `dashboard:${each.by}`, now);
        return decided.ok ? put(decided.value.refund, decided.value.changed) : current;
      }
      case 'lease': {
        const leased = leaseRefund(refund, `lease-${step}`, 45_000, now);
        if (!leased.ok) return current;
        leases.set(refund.id, `lease-${step}`);
        return put(leased.value.refund);
      }
      case 'crash':
        leases.delete(refund.id);
        return current;
      case 'hasten':
        return put(hastenRefund(refund, now));
      case 'settle': {
        const hasPaid = ledger.paidOut.has(refund.id);
        const outcome = hasPaid ? 'RETURNED' : 'NOT_RETURNED';
        const settled = settleRefund(
          order,
          refund,
          { id: 'stl_1', outcome, providerReference: 'case 7' },
          now,
        );
        return settled.ok ? put(settled.value.refund, settled.value.changed) : current;
      }
      case 'answer': {
        const leaseId = leases.get(refund.id);
        if (leaseId === undefined || refund.progress.status !== 'REVERSAL_DUE' || !refund.progress.isLeased)
          return current;
        // A request of one name is executed at most once. A definite refusal is possible only before that.
        const paidOut = new Map(ledger.paidOut);
        if (each.executes) paidOut.set(refund.id, refund.minorUnits);
        const hasPaid = paidOut.has(refund.id);
        const answers = {
          definite: hasPaid
            ? { type: 'done' }
            : { type: 'refused', reason: 'account_state', detail: '', definite: true },
          indefinite: { type: 'refused', reason: 'provider_error', detail: 'again', definite: false },
          lost: { type: 'pending', providerReference: '', detail: 'no answer' },
        } as const satisfies Record<string, ReversalOutcome>;
        const recorded = recordRefundOutcome(order, refund, leaseId, answers[each.answer], now);
        const after = recorded.ok ? put(recorded.value.refund, recorded.value.changed) : current;
        return { ...after, ledger: { paidOut } };
      }
    }
  }
}

const isEnd = (status: RefundStatus) => status === 'COMPLETED' || status === 'FAILED';

/** Asserts a rule after each step of random histories. */
const always = (name: string, rule: (world: World, before: World) => void): void =>
  forAll([histories])(name, (history) => {
    play(history, rule);
  });

describe('in every history of an order’s refunds', () => {
  always(
    'the returned money and the money in progress never exceed what was debited, in our records and in the wallet’s',
    ({ refunds, order, ledger }) => {
      expect(heldMinorUnits(refunds) <= deducted).toBe(true);
      expect([...ledger.paidOut.values()].reduce((sum, each) => sum + each, 0n) <= deducted).toBe(true);
      const completed = refunds.filter((refund) => refundStatus(refund) === 'COMPLETED');
      expect(order.refundedMinorUnits).toBe(completed.reduce((sum, { minorUnits }) => sum + minorUnits, 0n));
    },
  );

  always(
    'COMPLETED means that the wallet paid, FAILED that it did not and never will, and both are final',
    ({ refunds, ledger }, before) => {
      for (const refund of refunds) {
        const status = refundStatus(refund);
        if (isEnd(status)) expect(ledger.paidOut.has(refund.id)).toBe(status === 'COMPLETED');
        const earlier = before.refunds.find(({ id }) => id === refund.id);
        if (earlier !== undefined && isEnd(refundStatus(earlier))) expect(refund).toEqual(earlier);
      }
    },
  );

  always(
    'each refund has one reference at its wallet, and is not sent before its approval by a second person',
    ({ refunds, ledger }) => {
      for (const { id, progress, requestedBy, decidedBy } of refunds) {
        if ('name' in progress) expect(progress.name).toBe(id);
        if (progress.status === 'AWAITING_APPROVAL') expect(ledger.paidOut.has(id)).toBe(false);
        if (progress.status !== 'APPROVAL_DECLINED' && decidedBy !== '')
          expect(decidedBy).not.toBe(requestedBy);
      }
    },
  );

  always(
    'nothing is refunded of a payment that is returned as stray, and the order stays COMPLETED',
    ({ isStrayToo, refunds, order }, before) => {
      if (before.isStrayToo && isStrayToo) expect(refunds).toHaveLength(before.refunds.length);
      expect(order.status).toBe('COMPLETED');
      expect(order.deductedMinorUnits).toBe(deducted);
    },
  );

  always('the events have no gap, and each refund has one first event and at most one last', ({ events }) => {
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => 4 + at));
    for (const own of Map.groupBy(events, ({ refund }) => refund?.id).values()) {
      const types = own.map(({ type }) => type);
      expect(types[0]).toBe('REFUND_REQUESTED');
      expect(types.slice(1).filter((type) => type !== 'REFUND_APPROVED').length).toBeLessThanOrEqual(1);
    }
  });
});

forAll([histories])('a wallet that returns only whole payments never gets a part', ({ moves }) => {
  const { refunds } = play({ refunds: 'whole', moves }, () => undefined);
  expect(refunds.every(({ minorUnits }) => minorUnits === deducted)).toBe(true);
});

test('the histories reach every state', () => {
  const seen = new Set(
    fc
      .sample(histories, { numRuns: 400, seed: 1 })
      .flatMap((history) => play(history, () => undefined).refunds.map(refundStatus)),
  );
  expect(seen).toEqual(new Set(['AWAITING_APPROVAL', 'REQUESTED', 'SENT', 'UNKNOWN', 'COMPLETED', 'FAILED']));
});
