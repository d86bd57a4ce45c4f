import type { ReceiverCheckName } from '../../contract/certification-checks.ts';
import type { Forwarded } from '../forward-webhook.ts';
import { failed, passed } from './check.ts';
import type { Check } from './check.ts';
import { eventOf, madeUpOrder, orderEvent, orderTypes, refundEvent, refundTypes } from './made-up-events.ts';
import type { OrderEventName } from './made-up-events.ts';
import { allAccepted, completedEvent } from './receiver-answers.ts';
import type { ReceiverParts } from './receiver-answers.ts';
import { signatureChecks } from './signature-checks.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Gatehouse sends at most this many webhooks to one receiver at once. */
const maxConcurrent = 8;

/** The checks that HTTP answers alone decide. The orders of their webhooks do not exist. */
export function receiverChecks(parts: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  return [...firstChecks(parts), ...contentChecks(parts), ...orderChecks(parts), ...signatureChecks(parts)];
}

/** One genuine webhook. Without a 2xx to it, nothing else can be tested. */
function firstChecks({ sender, answerMs, now }: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  let first: Promise<Forwarded> | undefined;
  const answer = (): Promise<Forwarded> => (first ??= sender.send(completedEvent(now())));
  return [
    {
      name: 'reachable',
      fix: 'Start the receiver, and give its whole URL with --webhook-url.',
      run: async () => {
        const { problem, isLate } = await answer();
        return problem === '' || isLate ? passed('the receiver accepts connections') : failed(problem);
      },
    },
    {
      name: 'answers_in_time',
      needs: ['reachable'],
      fix: 'Store the webhook, answer 2xx at once, and process the order afterwards.',
      run: async () => {
        const { problem, durationMs } = await answer();
        return problem === ''
          ? passed(`answered in ${durationMs} ms, of ${answerMs / 1000} s`)
          : failed(problem);
      },
    },
    {
      name: 'no_redirect',
      needs: ['answers_in_time'],
      fix: 'Gatehouse follows no redirect. Register exactly the URL that the redirect leads to, with its scheme and its slashes.',
      run: async () => {
        const { status } = await answer();
        return status >= 300 && status < 400 ? failed(`answered ${status}`) : passed('no redirect');
      },
    },
    {
      name: 'accepts_genuine',
      needs: ['no_redirect'],
      fix: `Check that the receiver has the secret that you gave to this command, and verifies the bytes as they arrived. ${acceptUnknownOrders}`,
      run: async () => {
        const first = await answer();
        const verdict = allAccepted([['a genuine order.completed', first]]);
        return verdict.result === 'failed' ? failed(verdict.seen, fixOfStatus(first.status)) : verdict;
      },
    },
  ];
}

const acceptUnknownOrders =
  'Answer 2xx also when your shop does not know the order: Gatehouse repeats anything else for 76 hours.';

/** The advice for a status that says why the webhook was refused; undefined for any other status. */
function fixOfStatus(status: number): string | undefined {
  if (status >= 500)
    return `Find the error in the receiver's own log, and correct it. ${acceptUnknownOrders}`;
  if (status === 404 || status === 405)
    return `Check that --webhook-url has the path of the receiver, and that it handles POST. ${acceptUnknownOrders}`;
  return undefined;
}

function contentChecks({ sender, now }: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  const needs = ['accepts_genuine'] as const;
  return [
    {
      name: 'every_type',
      needs,
      fix: 'Answer 2xx to every type of event, even to those that your shop ignores.',
      run: async () => {
        const [at, answers] = [now(), []] as [Date, [string, Forwarded][]];
        for (const type of Object.keys(orderTypes) as OrderEventName[])
          answers.push([type, await sender.send(orderEvent(type, madeUpOrder(at), at))]);
        for (const type of Object.keys(refundTypes) as (keyof typeof refundTypes)[])
          answers.push([type, await sender.send(refundEvent(type, madeUpOrder(at), at))]);
        return allAccepted(answers);
      },
    },
    {
      name: 'unknown_type',
      needs: ['accepts_genuine', 'every_type'],
      fix: 'Answer 2xx to an unknown type, and ignore it. New types are added without notice.',
      run: async () => {
        const event = eventOf('order.certified', now(), { order_number: 'CERTIFY' });
        return allAccepted([['the unknown type order.certified', await sender.send(event)]]);
      },
    },
    {
      name: 'unknown_fields',
      needs,
      fix: 'Ignore unknown fields: read the fields that you need. New fields are added without notice.',
      run: async () => {
        const { id, body } = completedEvent(now());
        const data = { ...(body['data'] as object), certified: { new: [true, null] } };
        const answer = await sender.send({ id, body: { ...body, certified: 1, data } });
        return allAccepted([['a webhook with unknown fields', answer]]);
      },
    },
    {
      name: 'raw_body',
      needs,
      fix: 'Verify the bytes as they arrived, before you parse them. JSON that was parsed and written again has other bytes.',
      run: async () => {
        const [event, other] = [completedEvent(now()), completedEvent(now())];
        const backwards = Object.fromEntries(Object.entries(event.body).reverse());
        const spaced = `${JSON.stringify(backwards, null, 2).replaceAll('/', String.raw`\/`)}\n`;
        const escaped = JSON.stringify(other.body).replaceAll('C', String.raw`\u0043`);
        return allAccepted([
          ['a body with line breaks and other key order', await sender.send(event, { text: spaced })],
          ['a body with escaped letters', await sender.send(other, { text: escaped })],
        ]);
      },
    },
    {
      name: 'utf8_body',
      needs,
      fix: 'Read the body as bytes or as UTF-8, in verification too. A reason or a name may be in Amharic.',
      run: async () => {
        const at = now();
        const order = { ...madeUpOrder(at), reason: 'ሦስት መጻሕፍት – 📚' };
        return allAccepted([
          ['a reason in Amharic', await sender.send(orderEvent('order.completed', order, at))],
        ]);
      },
    },
  ];
}

/** Repeats, order and number of webhooks. */
function orderChecks({ sender, now }: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  const needs = ['accepts_genuine'] as const;
  return [
    {
      name: 'reordered_orders',
      needs,
      fix: 'Compare events of the same order only. Events of different orders arrive in any order.',
      run: async () => {
        const earlier = completedEvent(new Date(now().getTime() - 2 * minuteMs));
        const newer = await sender.send(completedEvent(now()));
        return allAccepted([
          ['a webhook', newer],
          ['an earlier event of another order', await sender.send(earlier)],
        ]);
      },
    },
    {
      name: 'late_webhook',
      needs: ['accepts_genuine', 'reordered_orders'],
      fix:
        'Compare the clock with the header webhook-timestamp, never with created_at: Gatehouse repeats a webhook ' +
        'for 76 hours, and signs it again each time.',
      run: async () => {
        const event = completedEvent(new Date(now().getTime() - 3 * dayMs));
        return allAccepted([['an event of three days ago, signed now', await sender.send(event)]]);
      },
    },
    {
      name: 'parallel_webhooks',
      needs,
      fix: 'Let the receiver handle several requests at once, for example without a lock around all orders.',
      run: async () => {
        const events = Array.from({ length: maxConcurrent }, () => completedEvent(now()));
        const answers = await Promise.all(events.map((event) => sender.send(event)));
        return allAccepted(answers.map((answer) => [`one of ${maxConcurrent} webhooks at once`, answer]));
      },
    },
    {
      name: 'duplicate',
      needs: ['accepts_genuine', 'parallel_webhooks'],
      fix: 'Store each webhook-id, and answer 2xx to a known one without handling it again.',
      run: async () => {
        const event = completedEvent(now());
        const first = await sender.send(event);
        const second = await sender.send(event);
        const both = await Promise.all([sender.send(event), sender.send(event)]);
        return allAccepted([
          ['a webhook', first],
          ['its repeat', second],
          ...both.map((answer) => ['two repeats at once', answer] as const),
        ]);
      },
    },
  ];
}
