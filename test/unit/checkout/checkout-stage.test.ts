import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import { isCancellable, secondsLeft, stageOf } from '../../../src/checkout/checkout-stage.ts';
import { CheckoutSchema, MoneyNotReturnedSchema } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { NextActionSchema } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import {
  OrderSchema,
  OrderStatus,
  PaymentAttemptSchema,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';

const nowMs = 1_800_000_000_000;
const { PENDING, COMPLETED, FAILED, EXPIRED } = OrderStatus;
const { REQUESTED, SENT, UNKNOWN, SUCCEEDED, DECLINED, TIMED_OUT } = PaymentAttemptStatus;

interface Situation {
  readonly status?: OrderStatus;
  readonly attempt?: PaymentAttemptStatus;
  readonly inStatusSeconds?: number;
  readonly usableHere?: boolean;
  readonly attemptsLeft?: number;
  readonly lastAttemptCancelled?: boolean;
  readonly secondsLeft?: number;
  readonly notReturned?: boolean;
  readonly opens?: boolean;
}

function stageIn({
  status = PENDING,
  attempt,
  inStatusSeconds = 10,
  usableHere = true,
  attemptsLeft = 1,
  lastAttemptCancelled = false,
  secondsLeft = 60,
  notReturned = false,
  opens = false,
}: Situation) {
  const order = create(OrderSchema, { status, expireTime: timestampFromMs(nowMs + secondsLeft * 1000) });
  const checkout = create(CheckoutSchema, { order, usableHere, attemptsLeft, lastAttemptCancelled });
  if (opens)
    checkout.nextAction = create(NextActionSchema, { action: { case: 'instructions', value: 'Dial' } });
  if (notReturned)
    checkout.moneyNotReturned = create(MoneyNotReturnedSchema, { amount: '1', currency: 'ETB' });
  if (attempt !== undefined) {
    // It was created long before.
    const createTime = timestampFromMs(nowMs - 9_999_000);
    const updateTime = timestampFromMs(nowMs - inStatusSeconds * 1000);
    checkout.latestAttempt = create(PaymentAttemptSchema, { status: attempt, createTime, updateTime });
  }
  return stageOf(checkout, order, nowMs);
}

describe('the checkout', () => {
  test.each<[string, Situation, string]>([
    ['nothing was tried', {}, 'pay'],
    ['the last try was declined', { attempt: DECLINED }, 'pay'],
    ['the last try was not confirmed', { attempt: TIMED_OUT }, 'pay'],
    ['a try waits to be sent', { attempt: REQUESTED }, 'confirm'],
    ['a wallet was asked', { attempt: SENT }, 'confirm'],
    ['the outcome is unknown', { attempt: UNKNOWN }, 'confirm'],
    ['the payment has succeeded and the order is not COMPLETED yet', { attempt: SUCCEEDED }, 'confirm'],
    ['the session is over', { secondsLeft: 0 }, 'expiring'],
    ['the session is over after a decline', { attempt: DECLINED, secondsLeft: -5 }, 'expiring'],
    ['the session is over, and a wallet was asked', { attempt: SENT, secondsLeft: -5 }, 'confirm'],
    ['the session is over, and the outcome is unknown', { attempt: UNKNOWN, secondsLeft: -9_999 }, 'confirm'],
    ['a wallet has money of an earlier try', { attempt: DECLINED, notReturned: true }, 'not_returned'],
    [
      'the wallet has money of an earlier try and was asked again',
      { attempt: SENT, notReturned: true },
      'confirm',
    ],
    [
      'no try is left, and the menu of the phone may have paid',
      { attempt: DECLINED, attemptsLeft: 0 },
      'checking',
    ],
    ['the payment belongs to another browser', { usableHere: false, attempt: SENT }, 'in_use'],
    ['it was paid', { status: COMPLETED, attempt: SUCCEEDED }, 'paid'],
    ['it was paid in another browser', { status: COMPLETED, usableHere: false }, 'paid'],
    ['it was cancelled', { status: FAILED }, 'cancelled'],
    ['it was cancelled after a decline', { status: FAILED, attempt: DECLINED }, 'cancelled'],
    [
      'the fifth try was cancelled',
      { status: FAILED, attempt: TIMED_OUT, attemptsLeft: 0, lastAttemptCancelled: true },
      'cancelled',
    ],
    ['the fifth try was not confirmed', { status: FAILED, attempt: TIMED_OUT, attemptsLeft: 0 }, 'failed'],
    ['the fifth try was declined', { status: FAILED, attempt: DECLINED, attemptsLeft: 0 }, 'failed'],
    ['it expired', { status: EXPIRED, attempt: TIMED_OUT }, 'expired'],
  ])('shows the right stage when %s', (_name, situation, stage) => {
    expect(stageIn(situation).name).toBe(stage);
  });

  test.each<[string, Situation, boolean]>([
    ['before a try', {}, true],
    ['before a try is sent', { attempt: REQUESTED }, true],
    ['after a try was sent', { attempt: SENT }, false],
    ['while a wallet has money', { attempt: DECLINED, notReturned: true }, false],
    ['after the session', { secondsLeft: 0 }, false],
    ['after the end', { status: FAILED }, false],
  ])('can be cancelled or not: %s', (_name, situation, isPossible) => {
    expect(isCancellable(stageIn(situation))).toBe(isPossible);
  });

  test.each([
    [1_001, 2],
    [1_000, 1],
    [0, 0],
    [-1, 0],
  ])('%i ms before its end has %i whole seconds left', (leftMs, seconds) => {
    const order = create(OrderSchema, { expireTime: timestampFromMs(nowMs + leftMs) });

    expect(secondsLeft(order, nowMs)).toBe(seconds);
  });

  test.each<[string, Situation, boolean]>([
    ['a prompt that was just sent', { attempt: SENT, inStatusSeconds: 179 }, false],
    ['a prompt that was sent three minutes ago', { attempt: SENT, inStatusSeconds: 180 }, true],
    ['an unknown outcome, however new', { attempt: UNKNOWN, inStatusSeconds: 1 }, true],
    ['a page of the wallet, however long', { attempt: SENT, opens: true, inStatusSeconds: 7200 }, false],
    ['a page of the wallet, and an unknown outcome', { attempt: UNKNOWN, opens: true }, true],
    ['a request that was never sent', { attempt: REQUESTED, inStatusSeconds: 600 }, false],
  ])('says whether the payment takes longer than usual: %s', (_name, situation, slow) => {
    expect(stageIn(situation)).toMatchObject({ name: 'confirm', slow });
  });

  test.each<[string, Situation, boolean]>([
    ['29 seconds', { attempt: REQUESTED, inStatusSeconds: 29 }, false],
    ['30 seconds', { attempt: REQUESTED, inStatusSeconds: 30 }, true],
    ['the time until it was sent', { attempt: SENT, inStatusSeconds: 60 }, false],
  ])('says whether the request cannot be sent: after %s', (_name, situation, unsent) => {
    expect(stageIn(situation)).toMatchObject({ name: 'confirm', unsent });
  });
});
