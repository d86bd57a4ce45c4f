import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type {
  AttemptId,
  OrderInFull,
  StrayMoney,
  StrayPaymentStatus,
} from '../../../src/core/domain/order.ts';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { transition } from '../../../src/core/domain/transition.ts';
import type { Command } from '../../../src/core/domain/transition.ts';
import { buildFacts, buildStrayMoney, money, phone, registeredAt } from './build-order.ts';
import { forAll } from '../../support/for-all.ts';

const start = (attemptId: AttemptId): Command => ({
  type: 'start_payment',
  attemptId,
  origin: 'CHECKOUT',
  paymentOption: 'walleta_ussd',
  phone: phone('0911223344'),
});

/** The next move of a wallet, a payer or an operator. Attempts are named by the number of later ones. */
type Move =
  | { readonly do: (typeof frequent)[number] | (typeof rare)[number] }
  | { readonly do: 'take' | 'decline'; readonly back: number; readonly amount: string };
const frequent = ['start', 'send'] as const;
const rare = ['lose', 'cancel', 'expire', 'refund', 'refuse_refund', 'retry_refund'] as const;

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom(...frequent) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom(...rare) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('take' as const, 'decline' as const),
        back: fc.constantFrom(0, 0, 0, 1, 2),
        amount: fc.constantFrom('100.50', '99.50'),
      }),
    },
  ),
  { maxLength: 40, size: 'max' },
);

/** The wallet's ledger beside the order: the attempts that hold money of the payer. */
interface Life {
  readonly order: OrderInFull;
  readonly holds: ReadonlySet<string>;
}

/** Plays moves around an order as the store records them. `isHonest`: the wallet never revokes a refusal. */
function live(sequence: readonly Move[], isHonest: boolean, look: (life: Life, sent: boolean) => void): Life {
  let order: OrderInFull = registerOrder(buildFacts()).order;
  const holds = new Set<string>();
  const change = (command: Command, at: Date): boolean => {
    const changed = transition(order, command, at);
    if (changed.ok) order = changed.value.order;
    return changed.ok;
  };
  const setStray = (from: StrayPaymentStatus, to: StrayPaymentStatus): StrayMoney | undefined => {
    const stray = order.strayMoney.find(({ status }) => status === from);
    if (stray === undefined) return undefined;
    order = {
      ...order,
      strayMoney: order.strayMoney.map((one) => (one === stray ? { ...one, status: to } : one)),
    };
    return stray;
  };
  const addStray = (id: AttemptId, amount: string): void => {
    order = { ...order, strayMoney: [...order.strayMoney, buildStrayMoney({ attemptId: id, amount })] };
  };
  for (const [index, move] of sequence.entries()) {
    const now = new Date(registeredAt.getTime() + index * 20_000);
    const before = order.latestAttempt;
    switch (move.do) {
      case 'start':
        change(start(`pat_${order.attemptCount + 1}`), now);
        break;
      case 'send':
        change({ type: 'send_attempt', attemptId: before?.id ?? 'pat_none' }, now);
        break;
      case 'lose':
        change({ type: 'lose_attempt', attemptId: before?.id ?? 'pat_none' }, now);
        break;
      case 'cancel':
        change({ type: 'cancel' }, now);
        break;
      case 'expire':
        change({ type: 'expire' }, new Date(now.getTime() + 3_600_000));
        break;
      case 'refund': {
        const stray = setStray('REVERSAL_DUE', 'REVERSED');
        if (stray !== undefined) holds.delete(stray.attemptId);
        break;
      }
      case 'refuse_refund':
        setStray('REVERSAL_DUE', 'REVERSAL_REFUSED');
        break;
      case 'retry_refund':
        setStray('REVERSAL_REFUSED', 'REVERSAL_DUE');
        break;
      case 'take':
      case 'decline': {
        const attempt = [...order.earlierAttempts, ...(before === null ? [] : [before])].at(-1 - move.back);
        if (attempt === undefined || attempt.status === 'REQUESTED' || holds.has(attempt.id)) break;
        const isOpen = attempt.status === 'SENT' || attempt.status === 'UNKNOWN';
        if (move.do === 'decline') {
          if (isOpen) change({ type: 'decline_attempt', attemptId: attempt.id, reason: 'wrong_pin' }, now);
          break;
        }
        if (!isOpen && (isHonest || order.strayMoney.some((one) => one.attemptId === attempt.id))) break;
        holds.add(attempt.id);
        const debited = money(move.amount);
        if (change({ type: 'confirm_attempt', attemptId: attempt.id, debited }, now)) break;
        addStray(attempt.id, move.amount);
        change({ type: 'decline_attempt', attemptId: attempt.id, reason: 'provider_error' }, now);
        break;
      }
    }
    const isSentNow = before?.status !== 'SENT' && order.latestAttempt?.status === 'SENT';
    look({ order, holds }, isSentNow);
  }
  return { order, holds };
}

describe('in every history of an order and its stray money', () => {
  forAll([moves], { numRuns: 2_000 })(
    'at most one attempt holds money of the payer, if the wallet never revokes a refusal',
    (sequence) => {
      live(sequence, true, ({ holds }) => expect(holds.size).toBeLessThanOrEqual(1));
    },
  );

  forAll([moves], { numRuns: 2_000 })(
    'no attempt is sent while another holds money, whatever the wallet takes back',
    (sequence) => {
      live(sequence, false, ({ holds }, isSentNow) => {
        if (isSentNow) expect([...holds]).toEqual([]);
      });
    },
  );

  forAll([moves])('an order whose attempts have ended can always end, with or without money', (sequence) => {
    const { order } = live(sequence, false, () => undefined);
    const attempt = order.latestAttempt?.status;
    if (order.status !== 'PENDING' || attempt === 'SENT' || attempt === 'UNKNOWN') return;
    const over = transition(order, { type: 'expire' }, new Date(registeredAt.getTime() + 86_400_000));
    expect(over).toMatchObject({ ok: true, value: { order: { status: 'EXPIRED' } } });
  });

  test('the histories reach a second attempt after money was returned, and orders that end before', () => {
    const lives = fc
      .sample(moves, { numRuns: 3_000, seed: 1 })
      .map((sequence) => live(sequence, true, () => undefined));

    expect(lives.some(({ order }) => order.status === 'COMPLETED' && order.strayMoney.length > 0)).toBe(true);
    expect(lives.some(({ order, holds }) => order.status === 'EXPIRED' && holds.size > 0)).toBe(true);
  });
});
