import type { IntegrationCheckName } from '../../contract/certification-checks.ts';
import { pause } from '../../platform/pause.ts';
import { failed, notTested, passed } from './check.ts';
import type { Check, Verdict } from './check.ts';
import type { PlacedOrder } from './gateway-proxy.ts';
import type { IntegrationParts } from './integration-parts.ts';
import { orderEvent, orderTypes } from './made-up-events.ts';
import type { MadeUpEvent, OrderEventName } from './made-up-events.ts';
import { webhookOrder } from './merchant-shop.ts';
import { randomSecret } from './receiver-answers.ts';

const minuteMs = 60_000;
/** Longer than any order can be open for a customer. */
const lateMs = 25 * 60 * minuteMs;
const pollMs = 100;

const acceptEach = 'Answer each genuine webhook with 2xx, even if it changes nothing in your shop.';

/** The checks of the orders that a shop fulfils. Certification ends the orders: by webhooks, and in the proxy's answers to verify. */
export function fulfilmentChecks(parts: IntegrationParts): readonly Check<IntegrationCheckName>[] {
  const { shop, sender, limits, now, stop } = parts;

  /** Ends the order at the proxy, and returns the event for a webhook. `registeredMs`: how long ago the order was registered. */
  const end = (
    order: PlacedOrder,
    type: OrderEventName,
    at = now(),
    registeredMs = minuteMs,
  ): MadeUpEvent => {
    const ended = webhookOrder(order, new Date(at.getTime() - registeredMs));
    const status = orderTypes[type];
    parts.proxy.simulate(order.orderNumber, {
      status,
      deducted: status === 'COMPLETED' ? ended.amount : '0.00',
      created_timestamp: ended.createdAt.toISOString(),
      updated_timestamp: at.toISOString(),
    });
    return orderEvent(type, ended, at);
  };

  /**
   * Sends a genuine webhook. Returns the verdict of the check if the receiver did not accept it, because what the shop did then proves
   * nothing.
   */
  const refusalOf = async (event: MadeUpEvent, fix?: string): Promise<Verdict | undefined> => {
    const { status, problem } = await sender.send(event);
    if (status === 0) return notTested(`the webhook did not arrive: ${problem}`);
    if (status >= 200 && status < 300) return undefined;
    return failed(`answered ${status} to a genuine ${String(event.body['type'])}`, fix);
  };

  /** How often an order was fulfilled at the end of a time in which the shop must not fulfil it again. */
  const fulfilledAfterQuiet = async ({ orderNumber }: PlacedOrder): Promise<number> => {
    const atOnce = await shop.fulfilled(orderNumber);
    await pause(limits.quietMs, stop);
    return Math.max(atOnce, await shop.fulfilled(orderNumber));
  };

  /** Waits until the order is fulfilled, and judges that it was fulfilled once. */
  const fulfilledOnce = async ({ orderNumber }: PlacedOrder, after: string): Promise<Verdict> => {
    const endMs = now().getTime() + limits.fulfilMs;
    let count = await shop.fulfilled(orderNumber);
    while (count === 0 && now().getTime() < endMs && !stop.aborted) {
      await pause(pollMs, stop);
      count = await shop.fulfilled(orderNumber);
    }
    if (count === 1) return passed(`fulfilled ${orderNumber} once`);
    return failed(
      count === 0
        ? `${orderNumber} was not fulfilled within ${limits.fulfilMs / 1000} s after ${after}`
        : `${orderNumber} was fulfilled ${count} times after ${after}`,
    );
  };

  const notFulfilled = async (order: PlacedOrder, after: string): Promise<Verdict> => {
    const count = await fulfilledAfterQuiet(order);
    return count === 0
      ? passed(`did not fulfil ${order.orderNumber}`)
      : failed(`fulfilled ${order.orderNumber} after ${after}`);
  };

  let paid: Promise<{ order: PlacedOrder; event: MadeUpEvent; refusal: Verdict | undefined }> | undefined;
  const payOne = () =>
    (paid ??= (async () => {
      shop.requireState();
      const order = await shop.placeForGood();
      const event = end(order, 'order.completed');
      return { order, event, refusal: await refusalOf(event) };
    })());

  return [
    {
      name: 'return_proves_nothing',
      needs: ['places_order'],
      fix: 'Verify the order, or wait for its webhook. A customer can open the return_url without paying.',
      run: async () => {
        shop.requireState();
        const order = await shop.placeForGood();
        await shop.visitReturnUrl(order);
        return notFulfilled(order, 'a visit to its return_url, while it was PENDING');
      },
    },
    {
      name: 'forged_has_no_effect',
      needs: ['places_order'],
      fix: 'Verify the signature before anything else. A refused webhook must leave no trace in your shop.',
      run: async () => {
        shop.requireState();
        const order = await shop.placeForGood();
        const event = orderEvent(
          'order.completed',
          webhookOrder(order, new Date(now().getTime() - minuteMs)),
          now(),
        );
        const { status, problem } = await sender.send(event, { secrets: { current: randomSecret() } });
        if (status === 0) return notTested(`the webhook did not arrive: ${problem}`);
        return notFulfilled(order, 'a forged order.completed');
      },
    },
    {
      name: 'fulfils_paid_order',
      needs: ['places_order'],
      fix:
        'Fulfil the order when its order.completed arrives. If your shop verifies the order first, it must use the ' +
        'address of this command as its gateway. If it did fulfil the order, check --state-url: 404 means never.',
      run: async () => {
        const { order, refusal } = await payOne();
        return refusal ?? fulfilledOnce(order, 'its order.completed');
      },
    },
    {
      name: 'fulfils_once',
      needs: ['fulfils_paid_order'],
      fix:
        'Store the webhook-id in the transaction that fulfils the order, with a unique index. Two repeats can arrive ' +
        'at once.',
      run: async () => {
        const { order, event } = await payOne();
        const refusal = await refusalOf(event, acceptEach);
        if (refusal !== undefined) return refusal;
        // A shop may refuse one of two at once. The gateway sends it again.
        const answers = await Promise.all([sender.send(event), sender.send(event)]);
        const lost = answers.find(({ status }) => status === 0);
        if (lost !== undefined) return notTested(`a repeat did not arrive: ${lost.problem}`);
        const count = await fulfilledAfterQuiet(order);
        return count === 1
          ? passed(`fulfilled ${order.orderNumber} once despite three repeats`)
          : failed(`fulfilled ${order.orderNumber} ${count} times after three repeats of one webhook`);
      },
    },
    ...(['order.failed', 'order.expired'] as const).map((type): Check<IntegrationCheckName> => ({
      name: type === 'order.failed' ? 'failed_not_fulfilled' : 'expired_not_fulfilled',
      needs: ['places_order'],
      fix: 'Fulfil only when the status is COMPLETED. Every other status means that the order is not paid.',
      run: async () => {
        shop.requireState();
        const order = await shop.placeForGood();
        return (await refusalOf(end(order, type), acceptEach)) ?? notFulfilled(order, `its ${type}`);
      },
    })),
    {
      name: 'late_money',
      needs: ['fulfils_paid_order'],
      fix:
        'Fulfil a COMPLETED order however late it is, or refund it. A wallet can confirm a payment hours after the ' +
        'time to pay is over, and the money is yours.',
      run: async () => {
        const order = await shop.placeForGood();
        const refusal = await refusalOf(end(order, 'order.completed', now(), lateMs));
        return (
          refusal ?? fulfilledOnce(order, 'an order.completed that came 25 hours after the registration')
        );
      },
    },
    {
      name: 'reordered_fulfilled',
      needs: ['fulfils_paid_order'],
      fix: 'Handle the events of each order separately. Events of different orders arrive in any order.',
      run: async () => {
        const earlier = await shop.placeForGood();
        const later = await shop.placeForGood();
        const first = end(earlier, 'order.completed', new Date(now().getTime() - 2 * minuteMs));
        const refusal = (await refusalOf(end(later, 'order.completed'))) ?? (await refusalOf(first));
        if (refusal !== undefined) return refusal;
        const verdict = await fulfilledOnce(later, 'its order.completed');
        if (verdict.result !== 'passed') return verdict;
        return fulfilledOnce(earlier, 'its order.completed, which came after a later one of another order');
      },
    },
  ];
}
