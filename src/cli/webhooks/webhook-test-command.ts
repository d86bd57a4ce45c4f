import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { DeliveryAttemptResult } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type {
  Delivery,
  DeliveryAttempt,
  GetDeliveryResponse,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { exitCodes } from '../cli-error.ts';
import { showAnswer, showResult, storyJson } from './delivery-story.ts';
import { showNextAttempt } from './next-attempt.ts';
import { environmentOption, showEnvironment } from '../options.ts';
import { requireField } from '../output.ts';
import type { Output } from '../output.ts';
import { explanationSentences, showSentences } from '../sentences.ts';
import { printable, table } from '../table.ts';
import type { WebhookClients } from './webhook-clients.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { onMerchant } from '../merchant-argument.ts';

type Webhooks = WebhookClients['webhooks'];

const pollIntervalMs = 200;
/** An attempt takes 15 s at most. A test without a result after this time is waiting for something else. */
const waitMs = 20_000;

/** `webhook test` */
export function addWebhookTestCommand(
  webhook: Command,
  { run, findMerchant, now, report }: WebhookParts,
): void {
  onMerchant(
    webhook
      .command('test')
      .description('send an event of type webhook.test to a URL, and show the result')
      .requiredOption(
        '--url <url>',
        'the URL that receives it; the rules of a webhook_url in that environment apply',
      )
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox')),
    findMerchant,
    (merchantId: string, options: { url: string; environment: Environment }) =>
      run(async ({ webhooks }) => {
        const sent = requireField((await webhooks.sendTestEvent({ merchantId, ...options })).delivery);
        report(`Sending a test to ${printable(options.url)} (${sent.deliveryId})`);
        return reportTest(webhooks, sent, now);
      }),
  );
}

/** Waits for the first attempt of a test, and reports it. */
export const reportTest = async (webhooks: Webhooks, sent: Delivery, now: () => Date): Promise<Output> =>
  reportDelivery(webhooks, await waitForAttempt(webhooks, sent, now));

/** The delivery after its first attempt, or after the time limit. */
async function waitForAttempt(
  webhooks: Webhooks,
  { merchantId, deliveryId }: Delivery,
  now: () => Date,
): Promise<GetDeliveryResponse> {
  const endMs = now().getTime() + waitMs;
  for (;;) {
    const story = await webhooks.getDelivery({ merchantId, deliveryId });
    if (story.attempts.length > 0 || now().getTime() > endMs) return story;
    await delay(pollIntervalMs);
  }
}

async function reportDelivery(webhooks: Webhooks, story: GetDeliveryResponse): Promise<Output> {
  const { merchantId, deliveryId, environment, webhookEndpointId } = requireField(story.delivery);
  const json = storyJson(story);
  // The first attempt. There may be more by now.
  const attempt = story.attempts.at(-1);
  if (attempt?.result === DeliveryAttemptResult.DELIVERED)
    return {
      json,
      text: (width) =>
        [
          describeAttempt(attempt, 'The test was delivered', width),
          webhookEndpointId === ''
            ? `It was signed with the merchant's current signing secret in ${showEnvironment(environment)}.`
            : 'It was signed with the current signing secret of the webhook endpoint.',
          'Any 2xx counts as delivered.',
          "To see whether the receiver verified the signature, read the receiver's log.",
        ].join('\n'),
    };
  const explained = await webhooks.explainDelivery({ merchantId, deliveryId });
  const text = (width: number): string[] =>
    attempt === undefined
      ? [`It has not been sent within ${waitMs / 1000} s.`, showSentences(explanationSentences(explained))]
      : [describeAttempt(attempt, 'The test was not delivered', width), showNextAttempt(explained)];
  return { json, text: (width) => text(width).join('\n'), exitCode: exitCodes.notDelivered };
}

function describeAttempt(attempt: DeliveryAttempt, verdict: string, width: number): string {
  const by = attempt.remoteAddress === '' ? '' : ` by ${attempt.remoteAddress}`;
  const answer = showAnswer(attempt).map((line) => ['', line]);
  // The empty first column makes the indent, because wrapping drops spaces within a cell.
  const indented =
    answer.length === 0 ? [] : [table([{ head: '' }, { head: '', wraps: true }], answer, width)];
  return [`${verdict}: ${showResult(attempt)}${by}`, ...indented].join('\n');
}
