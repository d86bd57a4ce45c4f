import { Argument } from 'commander';
import type { Command } from 'commander';
import { Environment, EnvironmentSchema } from '../../gen/gatehouse/v1/order_pb.js';
import {
  DeliveryExplanationSchema,
  DeliverySchema,
  EndpointSchema,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type {
  Delivery,
  DeliveryState,
  ExplainDeliveryResponse,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import {
  describeDelivery,
  isPending,
  showAttemptCount,
  showBody,
  showDue,
  showDeliveryAttempts,
  showState,
  storyJson,
} from './delivery-story.ts';
import { formerHostOption, hostOption } from './endpoint.ts';
import {
  deliveryStatesOption,
  environmentOption,
  limitOption,
  pageTokenOption,
  showEnvironment,
} from '../options.ts';
import { requireField } from '../output.ts';
import type { Output } from '../output.ts';
import { collectPages, isEmptyList, showMore } from '../paging.ts';
import type { PageOptions } from '../paging.ts';
import { addPeriod, periodOf } from '../period.ts';
import type { PeriodOptions } from '../period.ts';
import { plainJson, wordOf } from '../plain-json.ts';
import { explanationSentences, showSentences } from '../sentences.ts';
import { table } from '../table.ts';
import { showInstant, showTime } from '../time.ts';
import type { WebhookClients } from './webhook-clients.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { onMerchant, onMerchantAnd } from '../merchant-argument.ts';

interface ListOptions extends PageOptions, PeriodOptions {
  readonly environment: Environment;
  readonly state?: readonly DeliveryState[];
  readonly orderNumber?: string;
  readonly order?: string;
  readonly host?: string;
  /** The former name of `host`. */
  readonly endpoint?: string;
  readonly webhookEndpoint?: string;
}

type Webhooks = WebhookClients['webhooks'];

/** `webhook deliveries`, `webhook show` and `webhook explain` */
export function addDeliveryCommands(webhook: Command, parts: WebhookParts): void {
  const { run, findMerchant } = parts;
  onMerchant(
    addPeriod(
      webhook
        .command('deliveries')
        .description("list a merchant's deliveries, newest first")
        .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox'))
        .addOption(deliveryStatesOption('only deliveries in these states'))
        .option('--order-number <text>', 'only deliveries of the order with this order_number')
        .option('--order <order_id>', 'only deliveries of this order: ord_…')
        .addOption(hostOption())
        .addOption(formerHostOption())
        .option('--webhook-endpoint <endpoint_id>', 'only deliveries to this webhook endpoint: whe_…'),
      'deliveries created',
    )
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    findMerchant,
    (merchantId: string, options: ListOptions) =>
      run(({ webhooks }) => listDeliveries(webhooks, merchantId, options, parts)),
  );

  onMerchantAnd(
    webhook
      .command('show')
      .description('show one delivery: its body, its URL and the result of each attempt'),
    new Argument('<delivery_id>', 'whd_…'),
    findMerchant,
    (merchantId: string, deliveryId: string) =>
      run(async ({ webhooks }) => {
        const story = await webhooks.getDelivery({ merchantId, deliveryId });
        const delivery = requireField(story.delivery);
        const sections = (width: number): string[] => [
          describeDelivery(delivery, width),
          `Body\n${showBody(story.body)}`,
          showDeliveryAttempts(story, width),
          ...(isPending(delivery)
            ? [`To see when and why it is sent next:\ngatehouse webhook explain ${merchantId} ${deliveryId}`]
            : []),
        ];
        return { json: storyJson(story), text: (width) => sections(width).join('\n\n') };
      }),
  );

  onMerchantAnd(
    webhook
      .command('explain')
      .description('explain why a delivery is in its state, when it is sent next, and what to do'),
    new Argument('<delivery_id>', 'whd_…'),
    findMerchant,
    (merchantId: string, deliveryId: string) =>
      run(async ({ webhooks }) =>
        showExplanation(await webhooks.explainDelivery({ merchantId, deliveryId })),
      ),
  );
}

async function listDeliveries(
  webhooks: Webhooks,
  merchantId: string,
  options: ListOptions,
  { now, refuseUnknownMerchant }: WebhookParts,
): Promise<Output> {
  const { environment, state = [], orderNumber = '', order = '' } = options;
  const { endpoint: formerHost = '', host = formerHost, webhookEndpoint: webhookEndpointId = '' } = options;
  const { since, until, ofNextPage } = periodOf(options, now());
  const page = await collectPages(options, async (request) => {
    const reply = await webhooks.listDeliveries({
      ...request,
      merchantId,
      environment,
      states: [...state],
      orderNumber,
      orderId: order,
      endpoint: host,
      webhookEndpointId,
      ...(since && { createTimeFrom: since }),
      ...(until && { createTimeTo: until }),
    });
    return { items: reply.deliveries, nextPageToken: reply.nextPageToken };
  });
  if (isEmptyList(page, options)) await refuseUnknownMerchant(merchantId);
  const where = `${showEnvironment(environment)}, merchant ${merchantId}`;
  return {
    json: {
      environment: wordOf(EnvironmentSchema, environment) ?? null,
      deliveries: page.items.map((delivery) => plainJson(DeliverySchema, delivery)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      page.items.length === 0
        ? `No deliveries match in ${where}`
        : `Deliveries in ${where}\n\n${showDeliveries(page.items, width)}${showMore(page, ofNextPage)}`,
  };
}

function showDeliveries(deliveries: readonly Delivery[], width: number): string {
  const columns = [
    { head: 'DELIVERY, ORDER NUMBER' },
    { head: 'STATE' },
    { head: 'EVENT, CREATED' },
    { head: 'LAST RESULT', wraps: true },
  ];
  const rows = deliveries.map((delivery) => [
    delivery.orderNumber === '' ? delivery.deliveryId : `${delivery.deliveryId}\n${delivery.orderNumber}`,
    `${showState(delivery)}\n${showAttemptCount(delivery)}`,
    `${delivery.eventType}\n${showTime(delivery.createTime)}`,
    [delivery.lastResult || 'not sent yet', showWait(delivery)].join('\n'),
  ]);
  return table(columns, rows, width);
}

/** The reason why a delivery is pending, in a few words. */
function showWait(delivery: Delivery): string {
  if (!isPending(delivery)) return '';
  return delivery.awaitsSecret ? 'waiting for a secret' : `due ${showDue(delivery)}`;
}

function showExplanation(answer: ExplainDeliveryResponse): Output {
  const { explanation, nextAttemptTime } = answer;
  const next = showTime(nextAttemptTime);
  const delivery = requireField(answer.delivery);
  const sentences = explanationSentences(answer);
  return {
    json: {
      delivery: plainJson(DeliverySchema, delivery),
      endpoint: plainJson(EndpointSchema, requireField(answer.endpoint)),
      explanation: explanation === undefined ? null : plainJson(DeliveryExplanationSchema, explanation),
      sentences: sentences.map(({ text, command }) => (command === '' ? text : `${text} ${command}`)),
      next_attempt_time: next === '' ? null : showInstant(nextAttemptTime),
    },
    text: [
      `Delivery ${delivery.deliveryId} in ${showEnvironment(delivery.environment)} is ${showState(delivery)}`,
      showSentences(sentences),
    ].join('\n\n'),
  };
}
