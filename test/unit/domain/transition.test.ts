import { describe, expect, test } from '@jest/globals';
import type { Money } from '../../../src/core/domain/money.ts';
import type {
  OrderEventType,
  OrderInFull,
  OrderStatus,
  PaymentAttempt,
  PaymentAttemptStatus,
  PaymentType,
  StrayPaymentStatus,
} from '../../../src/core/domain/order.ts';
import { type Command, type RejectionOf, transition } from '../../../src/core/domain/transition.ts';
import { buildAttempt, buildOrder, buildStrayMoney, expiresAt, money, phone } from './build-order.ts';

/** The rows: the order and its latest attempt before the command. */
type State = readonly [
  status: OrderStatus,
  attempt: PaymentAttemptStatus | null,
  attemptCount: number,
  strayMoney?: readonly StrayPaymentStatus[],
];

const states: Readonly<Record<string, State>> = {
  'no attempt': ['PENDING', null, 0],
  requested: ['PENDING', 'REQUESTED', 1],
  sent: ['PENDING', 'SENT', 1],
  unknown: ['PENDING', 'UNKNOWN', 1],
  declined: ['PENDING', 'DECLINED', 1],
  'timed out': ['PENDING', 'TIMED_OUT', 4],
  '5th requested': ['PENDING', 'REQUESTED', 5],
  '5th sent': ['PENDING', 'SENT', 5],
  '5th unknown': ['PENDING', 'UNKNOWN', 5],
  'declined, held': ['PENDING', 'DECLINED', 1, ['REVERSAL_DUE']],
  'declined, kept': ['PENDING', 'DECLINED', 1, ['REVERSED', 'REVERSAL_REFUSED']],
  'declined, back': ['PENDING', 'DECLINED', 1, ['REVERSED', 'REVERSED']],
  'requested, held': ['PENDING', 'REQUESTED', 2, ['REVERSAL_DUE']],
  'requested, back': ['PENDING', 'REQUESTED', 2, ['REVERSED']],
  'sent, held': ['PENDING', 'SENT', 2, ['REVERSAL_REFUSED']],
  // The next three cannot occur, but must be safe.
  '5th declined': ['PENDING', 'DECLINED', 5],
  '5th timed out': ['PENDING', 'TIMED_OUT', 5],
  'paid, pending': ['PENDING', 'SUCCEEDED', 1],
  completed: ['COMPLETED', 'SUCCEEDED', 1],
  'failed, declined': ['FAILED', 'DECLINED', 1],
  'failed, cancelled': ['FAILED', null, 0],
  'expired, unpaid': ['EXPIRED', null, 0],
  'expired, timed out': ['EXPIRED', 'TIMED_OUT', 2],
};

const attemptId = 'pat_latest';
const payer = phone('0922334455');

/** The columns. Every command type has one or more; "other" stands for every command about another attempt. */
const start = (paymentOption: 'walleta_ussd' | 'walletb_ussd' | 'walleta_wallet'): Command => ({
  ...{ type: 'start_payment', attemptId: 'pat_new', origin: 'CHECKOUT', paymentOption, phone: payer },
});
const receiving = (debited: Money): Command => ({
  ...{ type: 'receive_payment', attemptId: 'pat_new', paymentOption: 'walleta_ussd', debited },
});
const commands: Readonly<Record<string, readonly Command[]>> = {
  start: [start('walleta_ussd'), start('walletb_ussd')],
  wallet: [start('walleta_wallet')],
  send: [{ type: 'send_attempt', attemptId }],
  lose: [{ type: 'lose_attempt', attemptId }],
  confirm: ['100.50', '100.5'].map((text) => ({ type: 'confirm_attempt', attemptId, debited: money(text) })),
  misconfirm: [money('100.49'), money('100.51'), money('100.50', 'USD')].map((debited) => ({
    ...{ type: 'confirm_attempt', attemptId, debited },
  })),
  decline: [{ type: 'decline_attempt', attemptId, reason: 'insufficient_funds' }],
  'time out': [
    { type: 'time_out_attempt', attemptId },
    { type: 'time_out_attempt', attemptId, isUnsent: true },
  ],
  cancel: [{ type: 'cancel' }],
  expire: [{ type: 'expire' }],
  receive: ['100.50', '100.5'].map((text) => receiving(money(text))),
  misreceive: [money('100.49'), money('100.51'), money('100.50', 'USD')].map(receiving),
  other: [
    { type: 'send_attempt', attemptId: 'pat_other' },
    { type: 'lose_attempt', attemptId: 'pat_other' },
    { type: 'confirm_attempt', attemptId: 'pat_other', debited: money('100.50') },
    { type: 'decline_attempt', attemptId: 'pat_other', reason: 'wrong_pin' },
    { type: 'time_out_attempt', attemptId: 'pat_other' },
  ],
};

/**
 * The meaning of a cell's word for the order after the command: its status, its latest attempt's, and the one event.
 */
type Change = readonly [
  status: OrderStatus,
  attempt: PaymentAttemptStatus | null,
  event: OrderEventType | null,
  eventIsAbout: 'attempt' | 'order' | null,
];

const changes: Readonly<Record<string, Change>> = {
  started: ['PENDING', 'REQUESTED', 'PAYMENT_STARTED', 'attempt'],
  sent: ['PENDING', 'SENT', null, null],
  lost: ['PENDING', 'UNKNOWN', null, null],
  PAID: ['COMPLETED', 'SUCCEEDED', 'COMPLETED', 'attempt'],
  RECEIVED: ['COMPLETED', 'SUCCEEDED', 'COMPLETED', 'attempt'],
  no: ['PENDING', 'DECLINED', 'PAYMENT_DECLINED', 'attempt'],
  silence: ['PENDING', 'TIMED_OUT', 'PAYMENT_DECLINED', 'attempt'],
  'FAILED no': ['FAILED', 'DECLINED', 'FAILED', 'attempt'],
  'FAILED silence': ['FAILED', 'TIMED_OUT', 'FAILED', 'attempt'],
  FAILED: ['FAILED', null, 'FAILED', 'order'],
  'FAILED with': ['FAILED', 'TIMED_OUT', 'FAILED', 'attempt'],
  EXPIRED: ['EXPIRED', null, 'EXPIRED', 'order'],
  'EXPIRED with': ['EXPIRED', 'TIMED_OUT', 'EXPIRED', 'attempt'],
};

/** The meaning of a cell's word when the order does not change. */
const rejections: Readonly<Record<string, (order: OrderInFull) => unknown>> = {
  final: ({ status }) => ({ type: 'order_is_final', status }),
  held: () => ({ type: 'money_not_returned', attemptId: 'pat_earlier' }),
  busy: () => ({ type: 'payment_in_progress', attemptId: 'pat_latest' }),
  limit: () => ({ type: 'too_many_attempts', limit: 5 }),
  late: () => ({ type: 'session_ended' }),
  early: () => ({ type: 'session_not_ended' }),
  option: () => ({ type: 'option_not_allowed' }),
  whose: () => ({ type: 'unknown_attempt' }),
  over: ({ latestAttempt }) => ({ type: 'attempt_is_final', status: latestAttempt?.status }),
  unsent: () => ({ type: 'attempt_not_sent' }),
  again: () => ({ type: 'attempt_already_sent' }),
  amount: () => ({ type: 'amount_mismatch' }),
};

const hostedInTime = `
                   | start   | wallet  | send    | lose   | confirm | misconfirm | decline   | time out       | cancel      | expire | receive  | misreceive | other
no attempt         | started | started | whose   | whose  | whose   | whose      | whose     | whose          | FAILED      | early  | RECEIVED | amount     | whose
requested          | busy    | busy    | sent    | unsent | unsent  | unsent     | unsent    | unsent         | FAILED with | early  | RECEIVED | amount     | whose
sent               | busy    | busy    | again   | lost   | PAID    | amount     | no        | silence        | busy        | early  | busy     | amount     | whose
unknown            | busy    | busy    | again   | =      | PAID    | amount     | no        | silence        | busy        | early  | busy     | amount     | whose
declined           | started | started | over    | over   | over    | over       | over      | over           | FAILED      | early  | RECEIVED | amount     | whose
timed out          | started | started | over    | over   | over    | over       | over      | over           | FAILED      | early  | RECEIVED | amount     | whose
declined, held     | held    | held    | over    | over   | over    | over       | over      | over           | FAILED      | early  | RECEIVED | amount     | whose
declined, kept     | held    | held    | over    | over   | over    | over       | over      | over           | FAILED      | early  | RECEIVED | amount     | whose
declined, back     | started | started | over    | over   | over    | over       | over      | over           | FAILED      | early  | RECEIVED | amount     | whose
requested, held    | busy    | busy    | silence | unsent | unsent  | unsent     | unsent    | unsent         | FAILED with | early  | RECEIVED | amount     | whose
requested, back    | busy    | busy    | sent    | unsent | unsent  | unsent     | unsent    | unsent         | FAILED with | early  | RECEIVED | amount     | whose
sent, held         | busy    | busy    | again   | lost   | PAID    | amount     | no        | silence        | busy        | early  | busy     | amount     | whose
5th requested      | busy    | busy    | sent    | unsent | unsent  | unsent     | unsent    | unsent         | FAILED with | early  | RECEIVED | amount     | whose
5th sent           | busy    | busy    | again   | lost   | PAID    | amount     | FAILED no | FAILED silence | busy        | early  | busy     | amount     | whose
5th unknown        | busy    | busy    | again   | =      | PAID    | amount     | FAILED no | FAILED silence | busy        | early  | busy     | amount     | whose
5th declined       | limit   | limit   | over    | over   | over    | over       | over      | over           | FAILED      | early  | RECEIVED | amount     | whose
5th timed out      | limit   | limit   | over    | over   | over    | over       | over      | over           | FAILED      | early  | RECEIVED | amount     | whose
paid, pending      | busy    | busy    | over    | over   | over    | over       | over      | over           | busy        | early  | busy     | amount     | whose`;

const hostedTooLate = `
                   | start | wallet | send  | lose   | confirm | misconfirm | decline   | time out       | cancel      | expire       | receive  | misreceive | other
no attempt         | late  | late   | whose | whose  | whose   | whose      | whose     | whose          | FAILED      | EXPIRED      | RECEIVED | amount     | whose
requested          | busy  | busy   | late  | unsent | unsent  | unsent     | unsent    | unsent         | FAILED with | EXPIRED with | RECEIVED | amount     | whose
sent               | busy  | busy   | again | lost   | PAID    | amount     | no        | silence        | busy        | busy         | busy     | amount     | whose
unknown            | busy  | busy   | again | =      | PAID    | amount     | no        | silence        | busy        | busy         | busy     | amount     | whose
declined           | late  | late   | over  | over   | over    | over       | over      | over           | FAILED      | EXPIRED      | RECEIVED | amount     | whose
timed out          | late  | late   | over  | over   | over    | over       | over      | over           | FAILED      | EXPIRED      | RECEIVED | amount     | whose
declined, held     | held  | held   | over  | over   | over    | over       | over      | over           | FAILED      | EXPIRED      | RECEIVED | amount     | whose
declined, kept     | held  | held   | over  | over   | over    | over       | over      | over           | FAILED      | EXPIRED      | RECEIVED | amount     | whose
declined, back     | late  | late   | over  | over   | over    | over       | over      | over           | FAILED      | EXPIRED      | RECEIVED | amount     | whose
requested, held    | busy  | busy   | late  | unsent | unsent  | unsent     | unsent    | unsent         | FAILED with | EXPIRED with | RECEIVED | amount     | whose
requested, back    | busy  | busy   | late  | unsent | unsent  | unsent     | unsent    | unsent         | FAILED with | EXPIRED with | RECEIVED | amount     | whose
sent, held         | busy  | busy   | again | lost   | PAID    | amount     | no        | silence        | busy        | busy         | busy     | amount     | whose
5th requested      | busy  | busy   | late  | unsent | unsent  | unsent     | unsent    | unsent         | FAILED with | EXPIRED with | RECEIVED | amount     | whose
5th sent           | busy  | busy   | again | lost   | PAID    | amount     | FAILED no | FAILED silence | busy        | busy         | busy     | amount     | whose
5th unknown        | busy  | busy   | again | =      | PAID    | amount     | FAILED no | FAILED silence | busy        | busy         | busy     | amount     | whose
5th declined       | late  | late   | over  | over   | over    | over       | over      | over           | FAILED      | EXPIRED      | RECEIVED | amount     | whose
5th timed out      | late  | late   | over  | over   | over    | over       | over      | over           | FAILED      | EXPIRED      | RECEIVED | amount     | whose
paid, pending      | busy  | busy   | over  | over   | over    | over       | over      | over           | busy        | busy         | busy     | amount     | whose`;

/** A DIRECT order differs from a hosted one only here: its app cannot be chosen, and its first refusal ends it. */
const direct: Readonly<Record<string, string>> = { no: 'FAILED no', silence: 'FAILED silence' };
const directOf = (cells: readonly Cell[]): Cell[] =>
  cells.map(({ state, column, outcome }) => {
    const isOption = column === 'wallet' && outcome !== 'final';
    return { state, column, outcome: isOption ? 'option' : (direct[outcome] ?? outcome) };
  });

const hosted: readonly PaymentType[] = ['API', 'LINK', 'QR'];
const inTime = [new Date('2026-03-01T12:05:00.000Z'), new Date(expiresAt.getTime() - 1)];
const tooLate = [expiresAt, new Date('2026-03-02T12:00:00.000Z')];

describe.each([
  ['a hosted order in time', hosted, inTime, cellsOf(hostedInTime)],
  ['a hosted order too late', hosted, tooLate, cellsOf(hostedTooLate)],
  ['a DIRECT order in time', ['DIRECT'], inTime, directOf(cellsOf(hostedInTime))],
  ['a DIRECT order too late', ['DIRECT'], tooLate, directOf(cellsOf(hostedTooLate))],
] as const)('transition of %s', (_, paymentTypes, instants, cells) => {
  test('has an expectation for every state and command', () => {
    expect(new Set(cells.map(({ state }) => state))).toEqual(new Set(Object.keys(states)));
    expect(new Set(cells.map(({ column }) => column))).toEqual(new Set(Object.keys(commands)));
    expect(cells).toHaveLength(Object.keys(states).length * Object.keys(commands).length);
  });

  test.each(cells)('$state x $column: $outcome', ({ state, column, outcome }) => {
    for (const paymentType of paymentTypes) {
      for (const now of instants) {
        for (const command of at(commands, column)) {
          const order = orderIn(state, paymentType);
          const untouched = structuredClone(order);

          const result = transition(order, command, now);

          expect(result).toEqual(expectedResult(order, command, now, outcome));
          expect(order).toEqual(untouched);
        }
      }
    }
  });
});

test('the columns contain every existing command', () => {
  const types: Readonly<Record<Command['type'], true>> = {
    start_payment: true,
    send_attempt: true,
    lose_attempt: true,
    confirm_attempt: true,
    receive_payment: true,
    decline_attempt: true,
    time_out_attempt: true,
    cancel: true,
    expire: true,
  };
  const inColumns = Object.values(commands).flatMap((column) => column.map(({ type }) => type));

  expect(new Set(inColumns)).toEqual(new Set(Object.keys(types)));
});

test('each command is rejected for exactly the reasons that its type lists', () => {
  type Listed = { readonly [Type in Command['type']]: Readonly<Record<RejectionOf<Type>['type'], true>> };
  const final = { order_is_final: true } as const;
  const notWithWallet = { unknown_attempt: true, attempt_not_sent: true, attempt_is_final: true } as const;
  const listed: Listed = {
    start_payment: {
      ...final,
      option_not_allowed: true,
      payment_in_progress: true,
      money_not_returned: true,
      session_ended: true,
      too_many_attempts: true,
    },
    send_attempt: {
      ...final,
      unknown_attempt: true,
      session_ended: true,
      attempt_already_sent: true,
      attempt_is_final: true,
    },
    lose_attempt: { ...final, ...notWithWallet },
    confirm_attempt: { ...final, ...notWithWallet, amount_mismatch: true },
    receive_payment: { ...final, payment_in_progress: true, amount_mismatch: true },
    decline_attempt: { ...final, ...notWithWallet },
    time_out_attempt: { ...final, ...notWithWallet },
    cancel: { ...final, payment_in_progress: true },
    expire: { ...final, payment_in_progress: true, session_not_ended: true },
  };
  const met: Record<string, Record<string, true>> = {};
  for (const state of Object.keys(states)) {
    for (const paymentType of [...hosted, 'DIRECT'] as const) {
      for (const command of Object.values(commands).flat()) {
        for (const now of [...inTime, ...tooLate]) {
          const result = transition(orderIn(state, paymentType), command, now);
          if (!result.ok) met[command.type] = { ...met[command.type], [result.error.type]: true };
        }
      }
    }
  }

  expect(met).toEqual(listed);
});

test('throws on an invalid status, as in a corrupt row', () => {
  const corrupt = Object.assign(buildOrder(), { status: 'REFUNDED' });

  expect(() => transition(corrupt, { type: 'cancel' }, expiresAt)).toThrow(
    new TypeError('"REFUNDED" is not possible here'),
  );
});

interface Cell {
  readonly state: string;
  readonly column: string;
  readonly outcome: string;
}

/** The cells of a table. No command changes an order that has ended, so the tables leave those states out. */
function cellsOf(table: string): Cell[] {
  const [header = [], ...rows] = table
    .trimStart()
    .split('\n')
    .map((line) => line.split('|').map((word) => word.trim()));
  const columns = header.filter((word) => word !== '');
  const ended = Object.keys(states).filter((state) => at(states, state)[0] !== 'PENDING');
  const finals = ended.map((state) => [state, ...columns.map(() => 'final')]);
  return [...rows, ...finals].flatMap(([state = '', ...outcomes]) =>
    outcomes.map((outcome, index) => ({ state, column: columns[index] ?? '', outcome })),
  );
}

function at<T>(table: Readonly<Record<string, T>>, word: string): T {
  const entry = table[word];
  if (entry === undefined) throw new Error(`"${word}" is not in the legend`);
  return entry;
}

function orderIn(state: string, paymentType: PaymentType): OrderInFull {
  const [status, attemptStatus, attemptCount, strayMoney = []] = at(states, state);
  return buildOrder({
    paymentType,
    status,
    attemptCount,
    latestAttempt: attemptStatus === null ? null : buildAttempt({ status: attemptStatus }),
    deductedMinorUnits: status === 'COMPLETED' ? 10_050n : 0n,
    lastEventSequence: 7,
    strayMoney: strayMoney.map((stray) => buildStrayMoney({ status: stray })),
  });
}

function expectedResult(order: OrderInFull, command: Command, now: Date, outcome: string): unknown {
  const rejection = rejections[outcome];
  if (rejection !== undefined) return { ok: false, error: rejection(order) };
  if (outcome === '=') return { ok: true, value: { order, events: [] } };

  const [status, attemptStatus, event, eventIsAbout] = at(changes, outcome);
  const latestAttempt =
    attemptStatus === null ? order.latestAttempt : attemptAfter(order, command, now, attemptStatus);
  const isNew = outcome === 'started' || outcome === 'RECEIVED';
  const after: OrderInFull = {
    ...order,
    status,
    latestAttempt,
    updatedAt: status === 'PENDING' ? order.updatedAt : now,
    deductedMinorUnits: status === 'COMPLETED' ? 10_050n : 0n,
    attemptCount: isNew ? order.attemptCount + 1 : order.attemptCount,
    lastEventSequence: event === null ? 7 : 8,
    earlierAttempts: isNew && order.latestAttempt !== null ? [endedUnsent(order.latestAttempt, now)] : [],
  };
  if (event === null) return { ok: true, value: { order: after, events: [] } };
  const attempt = eventIsAbout === 'attempt' ? latestAttempt : null;
  const expectedEvent = {
    type: event,
    sequence: 8,
    occurredAt: now,
    previousStatus: 'PENDING',
    order: after,
    attempt,
    decision: {
      command: command.type,
      attemptBefore: order.latestAttempt && {
        status: order.latestAttempt.status,
        updatedAt: order.latestAttempt.updatedAt,
      },
      attemptOrigin: command.type === 'start_payment' ? command.origin : null,
      strayMoney: order.strayMoney,
      payerPays: false,
      isUnsent: command.type === 'time_out_attempt' && command.isUnsent === true,
    },
  };
  return { ok: true, value: { order: after, events: [expectedEvent] } };
}

const endedUnsent = (attempt: PaymentAttempt, now: Date): PaymentAttempt =>
  attempt.status === 'REQUESTED' ? { ...attempt, status: 'TIMED_OUT', updatedAt: now } : attempt;

function attemptAfter(
  order: OrderInFull,
  command: Command,
  now: Date,
  status: PaymentAttemptStatus,
): PaymentAttempt {
  if (command.type === 'start_payment' || command.type === 'receive_payment') {
    const { type, paymentOption } = command;
    const isStarted = type === 'start_payment';
    const times = { createdAt: now, updatedAt: now };
    return {
      id: 'pat_new',
      status,
      origin: isStarted ? 'CHECKOUT' : 'PAYER',
      paymentOption,
      phone: isStarted ? '+251922334455' : '',
      ...times,
      declineReason: null,
    };
  }
  if (order.latestAttempt === null) throw new Error('the expectation is about an attempt that there is not');
  const declineReason = status === 'DECLINED' ? 'insufficient_funds' : null;
  return { ...order.latestAttempt, status, updatedAt: now, declineReason };
}
