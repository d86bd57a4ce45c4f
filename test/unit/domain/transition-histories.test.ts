import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isInFlight } from '../../../src/core/domain/order.ts';
import { transition } from '../../../src/core/domain/transition.ts';
import { forAll } from '../../support/for-all.ts';
import { buildFacts, expiresAt } from './build-order.ts';
import { histories } from './command-histories.ts';
import type { History } from './command-histories.ts';

const always = forAll([histories], { numRuns: 500 });

describe('in every history of an order', () => {
  always(
    'the events are numbered 1, 2, 3… without a gap, and the order knows the last number',
    ({ events, order }) => {
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
      expect(order.lastEventSequence).toBe(events.length);
    },
  );

  always(
    'a command causes at most one event, which contains the order and the previous status',
    ({ steps }) => {
      for (const { before, now, result } of steps) {
        if (!result.ok) continue;
        const { order, events } = result.value;
        expect(events.length).toBeLessThanOrEqual(1);
        for (const event of events) {
          expect(event).toMatchObject({ order, occurredAt: now, previousStatus: before.status });
          if (event.attempt !== null) expect(event.attempt).toBe(order.latestAttempt);
        }
      }
    },
  );

  always('a change of status causes the event of that name, and only this event', ({ steps }) => {
    for (const { before, result, after } of steps) {
      const told = result.ok ? result.value.events.map(({ type }) => type) : [];
      const ends = told.filter((type) => type === 'COMPLETED' || type === 'FAILED' || type === 'EXPIRED');
      expect(ends).toEqual(before.status === after.status ? [] : [after.status]);
    }
  });

  always('a final status never changes, and neither does anything else of the order', ({ steps }) => {
    for (const { before, result } of steps) {
      if (before.status === 'PENDING') continue;
      expect(result).toEqual({ ok: false, error: { type: 'order_is_final', status: before.status } });
    }
  });

  always(
    'at most one attempt succeeds, and the order is COMPLETED only then, by its exact amount',
    ({ steps, order }) => {
      const succeeded = steps.filter(
        ({ result }) => result.ok && result.value.order.latestAttempt?.status === 'SUCCEEDED',
      );
      expect(succeeded).toHaveLength(order.status === 'COMPLETED' ? 1 : 0);
      expect(order.deductedMinorUnits).toBe(order.status === 'COMPLETED' ? 10_050n : 0n);
    },
  );

  always('the order never fails or expires while an attempt may still take money', ({ steps }) => {
    for (const { before, command, after } of steps) {
      if (after.status === before.status || after.status === 'COMPLETED') continue;
      expect([undefined, 'DECLINED', 'TIMED_OUT']).toContain(after.latestAttempt?.status);
      const mayHoldMoney = ['SENT', 'UNKNOWN'].includes(before.latestAttempt?.status ?? '');
      const walletSaidNo = ['decline_attempt', 'time_out_attempt'].includes(command.type);
      expect(mayHoldMoney).toBe(walletSaidNo);
    }
  });

  always(
    'an attempt starts in time, after the previous one ended without money, at most five times, and received money may start one at any time',
    ({ steps, order }) => {
      const started = steps.filter(({ command, result }) => command.type === 'start_payment' && result.ok);
      for (const { before, now } of started) {
        expect(now.getTime()).toBeLessThan(expiresAt.getTime());
        expect([undefined, 'DECLINED', 'TIMED_OUT']).toContain(before.latestAttempt?.status);
      }
      const received = steps.filter(({ command, result }) => command.type === 'receive_payment' && result.ok);
      for (const { before } of received)
        expect([undefined, 'REQUESTED', 'DECLINED', 'TIMED_OUT']).toContain(before.latestAttempt?.status);
      expect(order.earlierAttempts.filter(isInFlight)).toEqual([]);
      expect(started.length + received.length).toBe(order.attemptCount);
      expect(started.length).toBeLessThanOrEqual(order.paymentType === 'DIRECT' ? 1 : 5);
      expect(received.length).toBeLessThanOrEqual(1);
    },
  );

  always('the order expires only after its session has ended', ({ events }) => {
    const expired = events.filter(({ type }) => type === 'EXPIRED');
    for (const { occurredAt } of expired) {
      expect(occurredAt.getTime()).toBeGreaterThanOrEqual(expiresAt.getTime());
    }
  });

  always('updatedAt changes with the status only', ({ steps }) => {
    for (const { before, now, after } of steps) {
      expect(after.updatedAt).toEqual(after.status === before.status ? before.updatedAt : now);
    }
  });

  always('registered values never change', ({ order }) => {
    expect(order).toMatchObject(buildFacts({ paymentType: order.paymentType }));
  });

  always('a decision changes none of its inputs, and is the same when it is repeated', ({ steps }) => {
    for (const { before, command, now, result } of steps) {
      const copy = structuredClone(before);
      expect(transition(before, command, now)).toEqual(result);
      expect(before).toEqual(copy);
    }
  });
});

test('the histories reach every status, every event and five attempts', () => {
  const sample = fc.sample(histories, { numRuns: 1_000, seed: 1 });

  expect(new Set(sample.map(({ order }) => order.status))).toEqual(
    new Set(['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED']),
  );
  expect(new Set(sample.flatMap(({ events }) => events.map(({ type }) => type)))).toEqual(
    new Set(['CREATED', 'PAYMENT_STARTED', 'PAYMENT_DECLINED', 'COMPLETED', 'FAILED', 'EXPIRED']),
  );
  const startsOf = ({ steps }: History): number =>
    steps.filter(({ command, result }) => command.type === 'start_payment' && result.ok).length;
  expect(Math.max(...sample.map(startsOf))).toBe(5);
});
