import type { IntegrationCheckName } from '../../contract/certification-checks.ts';
import { failed, passed } from './check.ts';
import type { Check, Verdict } from './check.ts';
import { fulfilmentChecks } from './fulfilment-checks.ts';
import type { PlacedOrder } from './gateway-proxy.ts';
import type { IntegrationParts } from './integration-parts.ts';
import { quote } from '../quote.ts';
import { waitFor } from './wait-for.ts';

/** The checks of the merchant's calls, and of the orders that its shop fulfils. The shop placed every order. */
export function integrationChecks(parts: IntegrationParts): readonly Check<IntegrationCheckName>[] {
  return [firstOrder(parts), ...lostAnswerChecks(parts), ...failureChecks(parts), ...fulfilmentChecks(parts)];
}

function firstOrder({ shop, proxy, limits, stop }: IntegrationParts): Check<IntegrationCheckName> {
  return {
    name: 'places_order',
    fix: `Start your shop with a test key, and with ${proxy.origin} as the address of the gateway. Correct what the gateway refuses.`,
    run: async () => {
      const order = await shop.place().catch((error: unknown) => (error as Error).message);
      if (typeof order === 'string') return failed(order);
      const answer = await waitFor(proxy, () => proxy.answers()[0], limits.arrivalMs, stop);
      if (answer?.status === 201) return passed(`the gateway accepted ${order.orderNumber}`);
      return failed(
        answer === undefined
          ? 'the gateway did not answer'
          : `the gateway answered ${answer.status} ${quote(answer.text, 200)}`,
      );
    },
  };
}

const isSameRequest = (one: PlacedOrder, other: PlacedOrder): boolean =>
  one.orderNumber === other.orderNumber &&
  one.fields.amount === other.fields.amount &&
  one.fields.currency === other.fields.currency;

/** The repeats of a placed order: requests after the first, whatever their order number. */
const repeatOf = ({ proxy }: IntegrationParts): PlacedOrder | undefined => proxy.placed()[1];

const otherNumber = (first: PlacedOrder, repeat: PlacedOrder): string =>
  first.orderNumber === repeat.orderNumber
    ? `sent ${first.orderNumber} again with another amount or currency`
    : `sent ${first.orderNumber} and then ${repeat.orderNumber} for the same purchase`;

const numberFix =
  'Create the order number once for a purchase, store it before the first request, and send the same request again. ' +
  'The gateway then returns the same order, and the customer cannot pay twice.';

function lostAnswerChecks(parts: IntegrationParts): readonly Check<IntegrationCheckName>[] {
  const { shop, proxy, limits, stop } = parts;
  /** One order whose 201 is lost: the request that follows, or the verification. */
  let lost: Promise<{ first: PlacedOrder; repeat: PlacedOrder | undefined; verified: boolean }> | undefined;
  const loseAnswer = () =>
    (lost ??= (async () => {
      const first = await shop.place({ kind: 'lose_answer' });
      const isVerified = (): boolean => proxy.verified().includes(first.orderNumber);
      await waitFor(proxy, () => repeatOf(parts) ?? (isVerified() || undefined), limits.repeatMs, stop);
      return { first, repeat: repeatOf(parts), verified: isVerified() };
    })());
  return [
    {
      name: 'repeats_lost_answer',
      needs: ['places_order'],
      fix:
        'Send the same request again after a lost connection or a timeout, or verify the order. The client libraries ' +
        'do that.',
      run: async () => {
        const { first, repeat, verified } = await loseAnswer();
        if (repeat !== undefined) return passed(`sent a request again after ${repeat.atMs - first.atMs} ms`);
        if (verified) return passed('verified the order');
        return failed(
          `nothing followed the lost 201 of ${first.orderNumber} within ${limits.repeatMs / 1000} s`,
        );
      },
    },
    {
      name: 'keeps_order_number',
      needs: ['repeats_lost_answer'],
      fix: numberFix,
      run: async () => {
        const { first, repeat } = await loseAnswer();
        if (repeat === undefined || isSameRequest(first, repeat))
          return passed(`asked for ${first.orderNumber} again`);
        return failed(otherNumber(first, repeat));
      },
    },
    {
      name: 'waits_for_slow_answer',
      needs: ['keeps_order_number'],
      fix: `Give a request at least 15 s, and after a timeout send the same request again, with the same order number.`,
      run: async () => {
        const first = await shop.place({ kind: 'delay_answer', ms: limits.slowMs });
        const isOver = (): true | undefined =>
          repeatOf(parts) !== undefined || proxy.verified().includes(first.orderNumber) || undefined;
        await waitFor(proxy, isOver, limits.slowMs + limits.quietMs, stop);
        // A shop that disconnected may still repeat the request.
        if (isOver() === undefined && proxy.givenUp() > 0)
          await waitFor(proxy, isOver, limits.repeatMs, stop);
        const repeat = repeatOf(parts);
        if (repeat !== undefined && !isSameRequest(first, repeat)) return failed(otherNumber(first, repeat));
        if (isOver() === undefined && proxy.givenUp() > 0)
          return failed(
            `gave up before the 201, which took ${limits.slowMs / 1000} s, and did not ask again`,
          );
        return passed(
          repeat === undefined ? `waited ${limits.slowMs / 1000} s for the 201` : 'sent the request again',
        );
      },
    },
  ];
}

const serverError = { code: 500, message: 'Internal server error' };
const tooMany = { code: 429, message: 'Too many requests' };
const refusal = {
  code: 400,
  message: 'Bad request',
  details: [{ field: 'amount', issue: 'is refused for the certification' }],
};

function failureChecks(parts: IntegrationParts): readonly Check<IntegrationCheckName>[] {
  const { shop, proxy, limits, stop } = parts;
  const repeatWithin = (ms: number): Promise<PlacedOrder | undefined> =>
    waitFor(proxy, () => repeatOf(parts), ms, stop);
  return [
    {
      name: 'repeats_server_error',
      needs: ['keeps_order_number'],
      fix: `After a 5xx, send the same request again after a pause that grows. ${numberFix}`,
      run: async () => {
        const first = await shop.place({ kind: 'answer', status: 500, body: serverError });
        const repeat = await repeatWithin(limits.repeatMs);
        if (repeat === undefined)
          return failed(`nothing followed a 500 to ${first.orderNumber} within ${limits.repeatMs / 1000} s`);
        return judgeRepeat(first, repeat);
      },
    },
    {
      name: 'respects_retry_after',
      needs: ['keeps_order_number'],
      fix: 'After a 429, send the same request again when the seconds in Retry-After are over, and not before.',
      run: async () => {
        const { retryAfterSeconds } = limits;
        const headers = { 'retry-after': String(retryAfterSeconds) };
        const first = await shop.place({ kind: 'answer', status: 429, headers, body: tooMany });
        const repeat = await repeatWithin(retryAfterSeconds * 1000 + limits.repeatMs);
        const wanted = `Retry-After: ${retryAfterSeconds}`;
        if (repeat === undefined) return failed(`nothing followed a 429 with ${wanted}`);
        const ms = repeat.atMs - first.atMs;
        // Timers of other languages end a little early.
        if (ms < retryAfterSeconds * 1000 - 50)
          return failed(`sent it again after ${ms} ms despite ${wanted}`);
        return judgeRepeat(first, repeat);
      },
    },
    {
      name: 'accepts_refusal',
      needs: ['places_order'],
      fix: 'A 400 stays a 400: show the fields in details to a developer, and do not send the same request again.',
      run: async () => {
        const first = await shop.place({ kind: 'answer', status: 400, body: refusal });
        const isRepeat = (): PlacedOrder | undefined =>
          proxy
            .placed()
            .slice(1)
            .find((each) => isSameRequest(first, each));
        const repeat = await waitFor(proxy, isRepeat, limits.quietMs, stop);
        return repeat === undefined
          ? passed('did not repeat a refused request')
          : failed(`sent ${first.orderNumber} again after a 400`);
      },
    },
  ];
}

const judgeRepeat = (first: PlacedOrder, repeat: PlacedOrder): Verdict =>
  isSameRequest(first, repeat)
    ? passed(`sent it again after ${repeat.atMs - first.atMs} ms`)
    : failed(otherNumber(first, repeat));
