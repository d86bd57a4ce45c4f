import { beforeEach, describe, expect, test } from '@jest/globals';
import { durationFromMs, timestampDate } from '@bufbuild/protobuf/wkt';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import type { Outcome, Payment } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

let merchantId: string;

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

/** Leases an attempt, and records an outcome with one exchange for each URL. */
async function settleBy(payment: Payment, outcome: Outcome, urls: readonly string[], purpose = 'query') {
  await desk.makeDue(payment);
  const exchanges = urls.map((url) => ({ purpose, url }));
  return desk.record(await desk.take(payment), outcome, exchanges);
}

/** The wallet leaves it pending many times. Each report has at most ten of so many exchanges. */
async function leavePending(payment: Payment, count: number, name: string): Promise<void> {
  const urls = Array.from({ length: count }, (_, index) => `${name}-${index}`);
  for (let done = 0; done < count; done += 10)
    await settleBy(payment, outcomes.pending('r-1'), urls.slice(done, done + 10));
}

const heard = async (payment: Payment): Promise<string[]> =>
  (await desk.story(payment)).exchanges.map(({ url, purpose, omitted }) =>
    omitted > 0 ? `${purpose} ${omitted}` : url,
  );

describe('of many exchanges with a wallet', () => {
  test('all are kept up to fifty', async () => {
    const payment = await desk.startDirect({ merchantId });

    await leavePending(payment, 50, 'q');

    const kept = await heard(payment);
    expect(kept).toHaveLength(50);
    expect(kept.at(0)).toBe('q-0');
    expect(kept.at(-1)).toBe('q-49');
  });

  test('the first twenty and the latest thirty are kept, and those between are counted', async () => {
    const payment = await desk.startDirect({ merchantId });

    await leavePending(payment, 120, 'q');

    const kept = await heard(payment);
    expect(kept).toHaveLength(51);
    expect(kept.slice(0, 2)).toEqual(['q-0', 'q-1']);
    expect(kept.slice(19, 22)).toEqual(['q-19', 'omitted 70', 'q-90']);
    expect(kept.at(-1)).toBe('q-119');
  });

  test('the decisive ones and requests to pay are kept too', async () => {
    const payment = await desk.startDirect({ merchantId });
    await leavePending(payment, 24, 'early');
    await settleBy(payment, outcomes.unknown(), ['sent-again'], 'initiate');
    await leavePending(payment, 6, 'pending');
    await settleBy(payment, outcomes.declined(), ['said-no']);
    await leavePending(payment, 40, 'no');
    await settleBy(payment, outcomes.completed('t-1'), ['said-paid']);

    await leavePending(payment, 40, 'late');

    const kept = await heard(payment);
    expect(kept.filter((url) => /^(sent|said|omitted)/.test(url))).toEqual([
      'omitted 60',
      'sent-again',
      'said-no',
      'said-paid',
    ]);
    const { exchanges } = await desk.story(payment);
    expect(exchanges.filter(({ decisive }) => decisive).map(({ url }) => url)).toEqual([
      'said-no',
      'said-paid',
    ]);
  });

  test('no more are kept when callbacks bring them', async () => {
    const payment = await desk.startDirect({ merchantId });
    await settleBy(payment, outcomes.completed('t-1'), ['said-paid']);

    for (let time = 0; time < 80; time += 1)
      await desk.payments.hastenPaymentAttempt({
        merchantId,
        paymentAttemptId: payment.attemptId,
        exchange: { purpose: 'callback', url: `c-${time}` },
      });

    const { exchanges } = await desk.story(payment);
    expect(exchanges[0]?.url).toBe('said-paid');
    expect(exchanges.length).toBeLessThanOrEqual(51);
    expect(exchanges.reduce((sum, { omitted }) => sum + Math.max(omitted, 1), 0)).toBe(81);
  });

  test('none can declare itself decisive or a placeholder', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.makeDue(payment);

    await desk.record(await desk.take(payment), outcomes.pending('r-1'), [{ decisive: true, omitted: 7 }]);

    expect((await desk.story(payment)).exchanges).toMatchObject([{ decisive: false, omitted: 0 }]);
  });
});

describe('a wallet that asks for fewer requests', () => {
  const waitAfter = async (retryAfterMs: number): Promise<number> => {
    const payment = await desk.startDirect({ merchantId });
    const { leaseId } = await desk.take(payment);
    const before = Date.now();
    const { dueTime } = await desk.payments.recordPaymentOutcome({
      merchantId,
      paymentAttemptId: payment.attemptId,
      leaseId,
      outcome: outcomes.unknown('429'),
      retryAfter: durationFromMs(retryAfterMs),
    });
    return (dueTime === undefined ? NaN : timestampDate(dueTime).getTime() - before) / 1000;
  };

  test('is queried when the requested time has passed', async () => {
    expect(await waitAfter(60_000)).toBeGreaterThanOrEqual(60);
  });

  test('is queried early enough that the request can still be sent again', async () => {
    expect(await waitAfter(86_400_000)).toBeLessThan(180);
  });
});
