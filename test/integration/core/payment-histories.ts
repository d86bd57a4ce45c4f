import { ConnectError } from '@connectrpc/connect';
import fc from 'fast-check';
import { storedId } from '../../support/ids.ts';
import { sql } from '../../support/sql.ts';
import type { LeasedPaymentAttempt } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { outcomes } from './payment-desk.ts';
import type { HostedOrder, Outcome, PaymentDesk } from './payment-desk.ts';

/** A call about an order by anyone but its wallet. */
const moves = ['submit', 'submit elsewhere', 'cancel', 'callback', 'end session'] as const;
export type Move = (typeof moves)[number];

/** The results of one lease of an attempt. */
const words = ['truth', 'truth twice', 'pending', 'unknown', 'not reached', 'dies', 'comes late'] as const;
export type Word = (typeof words)[number];

/** The wallet's real decision, which it returns to every query. */
const truths = ['paid', 'paid too much', 'declined', 'timed out', 'declined, then paid'] as const;
export type Truth = (typeof truths)[number];

export interface History {
  readonly isHosted: boolean;
  /** The steps of each inner list happen at the same time. */
  readonly moves: readonly (readonly Move[])[];
  readonly words: readonly Word[];
  readonly truths: readonly Truth[];
}

export const anyHistory: fc.Arbitrary<History> = fc.record({
  isHosted: fc.boolean(),
  moves: fc.array(fc.array(fc.constantFrom(...moves), { minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 6,
  }),
  words: fc.array(fc.constantFrom(...words), { maxLength: 6 }),
  truths: fc.array(fc.constantFrom(...truths), { minLength: 5, maxLength: 5 }),
});

/** An order with one of the histories, and what its wallet has done. */
export interface Subject {
  readonly order: HostedOrder;
  readonly orderNumber: string;
  readonly history: History;
  readonly words: Word[];
  readonly truths: Truth[];
  readonly truthOf: Map<string, Truth>;
  /** Attempts that were leased to be sent, and were not reported as not reached since. */
  readonly sent: Set<string>;
  /** Transactions that were reported to core and recorded. */
  readonly told: Set<string>;
}

/** A refusal is a normal answer here. Every other error is a fault. */
export async function refusable(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (!(error instanceof ConnectError) || /internal|unavailable/.test(error.message)) throw error;
    return false;
  }
}

export function subjectOf(order: HostedOrder, orderNumber: string, history: History): Subject {
  const { words: said, truths: done } = history;
  return {
    ...{ order, orderNumber, history, words: [...said], truths: [...done] },
    ...{ truthOf: new Map(), sent: new Set(), told: new Set() },
  };
}

export async function play(desk: PaymentDesk, { order, orderNumber, history }: Subject): Promise<void> {
  const submit = (phone: string): Promise<unknown> =>
    history.isHosted
      ? desk.payHosted(order, undefined, phone)
      : desk.startDirect({ merchantId: order.merchantId, orderNumber, phone });
  const callback = async (): Promise<void> => {
    const attempts = await desk.query<{ id: string }>(sql`
      select id from core.payment_attempts where order_id = ${storedId('ord', order.orderId)}`);
    await Promise.all(attempts.map(({ id }) => desk.queryNow(order.merchantId, id)));
  };
  const doMove = (move: Move): Promise<unknown> => {
    switch (move) {
      case 'submit':
        return submit('0911223344');
      case 'submit elsewhere':
        return submit('0911223355');
      case 'cancel':
        return desk.cancelHosted(order);
      case 'callback':
        return callback();
      case 'end session':
        return desk.endSession(order);
    }
  };
  for (const together of history.moves) await Promise.all(together.map((move) => refusable(doMove(move))));
}

/** The wallet's answer to the query number `look` about its decision on an attempt. */
function decisionOf(truth: Truth, attemptId: string, look: number): Outcome {
  switch (truth) {
    case 'paid':
      return outcomes.completed(`t-${attemptId}`);
    case 'paid too much':
      return outcomes.completed(`t-${attemptId}`, '100.51');
    case 'declined':
      return outcomes.declined();
    case 'timed out':
      return outcomes.timedOut();
    case 'declined, then paid':
      return look === 0 ? outcomes.declined() : outcomes.completed(`t-${attemptId}`);
  }
}

/** Handles a lease as the order's history says. Returns the violated invariant, if any. */
export async function serve(
  desk: PaymentDesk,
  subject: Subject,
  leased: LeasedPaymentAttempt,
): Promise<string[]> {
  const attemptId = leased.paymentAttempt?.paymentAttemptId ?? '';
  const payment = { ...subject.order, attemptId };
  const faults =
    !leased.sentBefore && subject.sent.has(attemptId) ? [`${attemptId} was given out to be sent twice`] : [];
  const truth = subject.truthOf.get(attemptId) ?? subject.truths.shift() ?? 'paid';
  const look = subject.truthOf.has(attemptId) && subject.told.has(`look ${attemptId}`) ? 1 : 0;
  subject.truthOf.set(attemptId, truth);
  subject.sent.add(attemptId);
  const decision = decisionOf(truth, attemptId, look);
  const tell = async (outcome: Outcome): Promise<boolean> => {
    const isTaken = await refusable(desk.record(leased, outcome));
    if (isTaken && outcome === decision) subject.told.add(`look ${attemptId}`);
    if (isTaken && outcome.case === 'completed') subject.told.add(`t-${attemptId}`);
    return isTaken;
  };
  const word = subject.words.shift() ?? 'truth';
  switch (word) {
    case 'truth':
      await tell(decision);
      break;
    case 'truth twice':
      await Promise.all([tell(decision), tell(decision)]);
      break;
    case 'pending':
      await tell(outcomes.pending('r'));
      break;
    case 'unknown':
      await tell(outcomes.unknown());
      break;
    case 'not reached':
      if (!leased.sentBefore) subject.sent.delete(attemptId);
      if (!(await tell(outcomes.notReached()))) await desk.lapse(payment);
      break;
    case 'dies':
      await desk.lapse(payment);
      break;
    case 'comes late':
      await desk.lapse(payment);
      await tell(decision);
      break;
  }
  return faults;
}
