import { toJsonString } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { AttemptId, Changed, OrderEvent, OrderInFull } from '../../../src/core/domain/order.ts';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { err, ok } from '../../../src/core/domain/result.ts';
import type { Command } from '../../../src/core/domain/transition.ts';
import { transition } from '../../../src/core/domain/transition.ts';
import { eraseEvent, readEvent } from '../../../src/core/erasure/erase-event.ts';
import { createRehearsal } from '../../../src/core/rehearsal/create-rehearsal.ts';
import type { Rules } from '../../../src/core/rehearsal/replay-event.ts';
import { eventMessage } from '../../../src/core/rpc/order-messages.ts';
import { OrderDecisionSchema, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent as OrderEventMessage } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { publicId } from '../../support/ids.ts';
import { forAll } from '../../support/for-all.ts';
import { buildFacts, buildStrayMoney, money, phone, registeredAt } from '../domain/build-order.ts';
import { histories } from '../domain/command-histories.ts';

const uuid = (number: number): string => `0199f2a0-0000-7000-8000-${String(number).padStart(12, '0')}`;
const attemptId = (number: number): AttemptId => publicId('pat', uuid(number));
const orderId = publicId('ord', uuid(900));
const merchantId = publicId('mer', uuid(901));

/** The event as core stores it, with ids of their full form. */
function stored(event: OrderEvent): OrderEventMessage {
  const withIds = JSON.parse(
    JSON.stringify(event, (_, value: unknown) =>
      typeof value === 'bigint'
        ? `${value}n`
        : typeof value === 'string' && value.startsWith('pat_') && value.length < 10
          ? attemptId(Number(value.slice('pat_'.length)))
          : value,
    ),
    (_, value: unknown) =>
      typeof value === 'string' && /^\d+n$/.test(value)
        ? BigInt(value.slice(0, -1))
        : typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)
          ? new Date(value)
          : value,
  ) as OrderEvent;
  const order = { ...withIds.order, id: orderId, merchantId };
  return eventMessage({ ...withIds, order }, 'evt_1', '');
}

const withoutDecision = (event: OrderEventMessage): OrderEventMessage => {
  const { decision: _, ...rest } = event;
  return rest;
};

/** Replays the events, by default with the rules of this release. */
function rehearse(events: readonly OrderEventMessage[], rules?: Rules) {
  const rehearsal = createRehearsal(rules);
  const differences = events.flatMap((event) => rehearsal.replay(event));
  return { differences, counts: rehearsal.counts() };
}

/** The events of commands, each a minute after the previous one. Every command must be accepted. */
function recorded(commands: readonly Command[]): OrderEventMessage[] {
  const registered = registerOrder(buildFacts());
  const events = [...registered.events];
  let { order } = registered;
  commands.forEach((command, index) => {
    const decided = transition(order, command, new Date(registeredAt.getTime() + (index + 1) * 60_000));
    if (!decided.ok) throw new Error(`${command.type}: ${decided.error.type}`);
    order = decided.value.order;
    events.push(...decided.value.events);
  });
  return events.map(stored);
}

const start = (number: number): Command => ({
  type: 'start_payment',
  attemptId: `pat_${number}`,
  origin: 'CHECKOUT',
  paymentOption: 'walleta_ussd',
  phone: phone('0911223344'),
});
const send = { type: 'send_attempt', attemptId: 'pat_1' } as const;
const lose = { type: 'lose_attempt', attemptId: 'pat_1' } as const;
const timeOut = { type: 'time_out_attempt', attemptId: 'pat_1' } as const;
const confirm = { type: 'confirm_attempt', attemptId: 'pat_1', debited: money('100.5') } as const;

/** The rules of this release, except for one command. */
const rulesWith = (
  type: Command['type'],
  decide: (order: OrderInFull, command: Command, now: Date) => ReturnType<Rules['transition']>,
): Rules => ({
  registerOrder,
  transition: (order, command, now) =>
    command.type === type ? decide(order, command, now) : transition(order, command, now),
});

describe('with the same rules', () => {
  forAll([histories], { numRuns: 300 })(
    'no decision of any history differs, and every event is decided again',
    ({ events, steps }) => {
      const { differences, counts } = rehearse(events.map(stored));
      const unrecorded = steps.filter(({ result }) => result.ok && result.value.events.length === 0);

      expect(differences).toEqual([]);
      expect(counts).toMatchObject({ events: events.length, commandUnknown: 0, incompleteOrders: 0 });
      expect(counts.decisions).toBeGreaterThanOrEqual(events.length);
      expect(counts.decisions).toBeLessThanOrEqual(events.length + unrecorded.length);
    },
  );

  test('no decision differs when an earlier release recorded no commands; ambiguous ones are counted', () => {
    let [derived, unknown] = [0, 0];
    // Random histories may contain no attempt that timed out.
    const { counts: ambiguous } = rehearse(recorded([start(1), send, timeOut]).map(withoutDecision));
    fc.assert(
      fc.property(histories, ({ events }) => {
        const { differences, counts } = rehearse(events.map((event) => withoutDecision(stored(event))));

        expect(differences).toEqual([]);
        expect(counts.decisions + counts.commandUnknown).toBe(events.length);
        derived += counts.derived;
        unknown += counts.commandUnknown;
      }),
      { numRuns: 300 },
    );
    expect(derived).toBeGreaterThan(unknown);
    expect(ambiguous).toMatchObject({ events: 3, derived: 1, commandUnknown: 1 });
  });

  forAll([histories], { numRuns: 100 })(
    'no decision differs after the personal data was erased',
    ({ events }) => {
      const erased = events.map((event) => readEvent(eraseEvent(stored(event))));

      expect(rehearse(erased).differences).toEqual([]);
    },
  );

  forAll([histories], { numRuns: 100 })(
    'no decision differs when the list has events of an order in another sequence',
    ({ events }) => {
      const [first, ...rest] = events.map(stored);
      const { differences, counts } = rehearse([...rest.reverse(), ...(first === undefined ? [] : [first])]);

      expect(differences).toEqual([]);
      expect(counts).toMatchObject({ orders: 1, events: events.length, incompleteOrders: 0 });
      expect(counts.decisions).toBeGreaterThanOrEqual(events.length);
    },
  );

  test('an attempt that was not sent because of stray money is decided with that money', () => {
    const { order, events } = started();
    const held = buildStrayMoney({ attemptId: attemptId(7), foundAt: registeredAt });
    const refused = transition({ ...order, strayMoney: [held] }, send, at(2));
    if (!refused.ok) throw new Error(refused.error.type);

    const { differences, counts } = rehearse([...events, ...refused.value.events].map(stored));

    expect(refused.value.events[0]?.decision).toMatchObject({ command: 'send_attempt', strayMoney: [held] });
    expect(differences).toEqual([]);
    expect(counts.decisions).toBe(3);
  });

  test.each<Command>([timeOut, { type: 'decline_attempt', attemptId: 'pat_1', reason: 'declined_by_payer' }])(
    'a direct order whose payer pays in another way stays open after its attempt: $type',
    (command) => {
      const registered = registerOrder(buildFacts({ paymentType: 'DIRECT' }));
      const begun = transition(registered.order, start(1), at(1));
      const sent = begun.ok ? transition(begun.value.order, send, at(2)) : begun;
      if (!begun.ok || !sent.ok) throw new Error('not sent');
      const ended = transition({ ...sent.value.order, payerPays: true }, command, at(3));
      if (!ended.ok) throw new Error(ended.error.type);

      const events = [...registered.events, ...begun.value.events, ...ended.value.events];
      const { differences } = rehearse(events.map(stored));

      expect(ended.value.events.map(({ type }) => type)).toEqual(['PAYMENT_DECLINED']);
      expect(differences).toEqual([]);
    },
  );

  test('the recorded decision contains no copy of a phone or a text', () => {
    const events = recorded([start(1), send, confirm]);

    const texts = events
      .map(({ decision }) => decision && toJsonString(OrderDecisionSchema, decision))
      .join();

    expect(texts).toContain('confirm_attempt');
    expect(texts).not.toMatch(/11223344|coffee|Shop|shop/);
  });
});

describe('with a changed rule', () => {
  test('the decision that differs is listed, with its order, event and command', () => {
    const noTryAfterTimeOut = rulesWith('time_out_attempt', (order, command, now) => {
      const decided = transition(order, command, now);
      return decided.ok ? ok(failed(decided.value)) : decided;
    });

    const { differences, counts } = rehearse(
      recorded([start(1), send, timeOut, start(2)]),
      noTryAfterTimeOut,
    );

    expect(differences).toEqual([
      {
        ...{ orderId, merchantId, sequence: 3, time: at(3), command: 'time_out_attempt' },
        ...{ recorded: 'payment_declined', candidate: 'failed' },
        fields: expect.arrayContaining([
          { field: 'type', recorded: 'payment_declined', candidate: 'failed' },
          { field: 'order.status', recorded: 'pending', candidate: 'failed' },
        ]),
      },
    ]);
    expect(counts).toMatchObject({ orders: 1, decisions: 5, differing: 1 });
  });

  test('a command that the candidate rejects is listed with the reason', () => {
    const strict = rulesWith('confirm_attempt', () => err({ type: 'amount_mismatch' }));

    const { differences } = rehearse(recorded([start(1), send, confirm]), strict);

    expect(differences).toMatchObject([
      {
        sequence: 3,
        command: 'confirm_attempt',
        recorded: 'completed',
        candidate: 'rejected: amount_mismatch',
      },
    ]);
  });

  test.each([
    ['send_attempt', [start(1), send, timeOut], 'sent'],
    ['lose_attempt', [start(1), send, lose, timeOut], 'unknown'],
  ] as const)('%s, which added no event, is listed at the next event', (type, commands, status) => {
    const strict = rulesWith(type, () => err({ type: 'session_ended' }));

    const { differences } = rehearse(recorded(commands), strict);

    expect(differences).toMatchObject([
      { sequence: 3, command: type, recorded: status, candidate: 'rejected: session_ended' },
    ]);
  });

  test('an exception of the candidate is listed, and the rest of the order is not decided', () => {
    const broken = rulesWith('start_payment', () => {
      throw new Error('no such wallet');
    });

    const { differences, counts } = rehearse(recorded([start(1), send, confirm]), broken);

    expect(differences).toMatchObject([{ sequence: 2, candidate: 'failed: no such wallet' }]);
    expect(counts).toMatchObject({ differing: 1, incompleteOrders: 1 });
  });
});

describe('with other records', () => {
  test('an event that the rules cannot have caused is listed', () => {
    const events = recorded([start(1), send, confirm]);
    const last = events.at(-1);
    if (last?.order === undefined) throw new Error('no order');
    last.order.status = OrderStatus.FAILED;

    const { differences } = rehearse(events);

    expect(differences).toMatchObject([
      { sequence: 3, fields: [{ field: 'order.status', recorded: 'failed', candidate: 'completed' }] },
    ]);
  });

  test('an event after the end of its order is listed', () => {
    const [first, ...rest] = recorded([{ type: 'cancel' }]);
    const again = rest.map((event) => ({ ...event, sequence: 3n }));

    const { differences } = rehearse([first, ...rest, ...again].flatMap((event) => event ?? []));

    expect(differences).toMatchObject([{ sequence: 3, candidate: 'rejected: order_is_final' }]);
  });

  test('the events after a missing one are not decided', () => {
    const events = recorded([start(1), send, confirm]);

    const { differences, counts } = rehearse(events.filter(({ sequence }) => sequence !== 2n));

    expect(differences).toEqual([]);
    expect(counts).toMatchObject({ decisions: 1, incompleteOrders: 1 });
  });
});

function at(minutes: number): Date {
  return new Date(registeredAt.getTime() + minutes * 60_000);
}

function started(): Changed {
  const registered = registerOrder(buildFacts());
  const paid = transition(registered.order, start(1), at(1));
  if (!paid.ok) throw new Error(paid.error.type);
  return { order: paid.value.order, events: [...registered.events, ...paid.value.events] };
}

const failed = ({ order, events }: Changed): Changed => ({
  order: { ...order, status: 'FAILED' },
  events: events.map((event) => ({ ...event, type: 'FAILED', order: { ...event.order, status: 'FAILED' } })),
});
