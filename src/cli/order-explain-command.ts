import { Code, ConnectError } from '@connectrpc/connect';
import { Argument } from 'commander';
import type { Command } from 'commander';
import { explainOrder } from '../contract/explain-order.ts';
import { holderText } from '../contract/order-explanation-text.ts';
import {
  OrderExplanationSchema,
  OrderFact,
  OrderFactSchema,
  OrderNextStepSchema,
} from '../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation } from '../gen/gatehouse/v1/order_explanation_pb.js';
import { Environment, OrderStatusSchema } from '../gen/gatehouse/v1/order_pb.js';
import { isPublicId } from '../contract/public-id.ts';
import type { CoreClients } from './core-clients.ts';
import { onMerchantAnd } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import { environmentOption, environmentWord, showEnvironment } from './options.ts';
import { orderKey } from './order-key.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { showSentences } from './sentences.ts';
import { fields } from './table.ts';
import { showTime } from './time.ts';
import type { WebhookClients } from './webhooks/webhook-clients.ts';

export interface ExplainParts {
  readonly run: Runner;
  readonly findMerchant: FindMerchant;
  /** The webhooks processes beside the core; undefined when none is known. */
  readonly openWebhooks: () => Promise<WebhookClients | undefined>;
}

/** `order explain` */
export function addOrderExplainCommand(order: Command, parts: ExplainParts): void {
  onMerchantAnd(
    order
      .command('explain')
      .description('explain what an order waits for, who can change that, and what happens next')
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox')),
    new Argument('<order>', "the merchant's order_number, or ord_…"),
    parts.findMerchant,
    (merchantId: string, name: string, { environment }: { environment: Environment }) =>
      parts.run(async ({ orderStories, payments }) => {
        const key = orderKey(name);
        const found = await orderStories.explainOrder({ merchantId, environment, key });
        const { orderId } = found;
        const explanation = await explainOrder(requireField(found.explanation), () =>
          readWebhooks(parts, { merchantId, environment, orderId }),
        );
        const detail = await detailOf(payments, merchantId, explanation);
        return showExplanation({ merchantId, environment, ...found }, explanation, detail);
      }),
  );
}

/** Why the wallet's latest answer about the payment decided nothing; empty without a payment, and for a token that may not read payments. */
async function detailOf(
  payments: CoreClients['payments'],
  merchantId: string,
  { subjectId: paymentAttemptId }: OrderExplanation,
): Promise<string> {
  if (!isPublicId('pat', paymentAttemptId)) return '';
  try {
    return (await payments.getPaymentAttempt({ merchantId, paymentAttemptId })).detail;
  } catch (error) {
    if (ConnectError.from(error).code === Code.PermissionDenied) return '';
    throw error;
  }
}

interface OrderName {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly orderId: string;
}

async function readWebhooks(
  { openWebhooks }: ExplainParts,
  order: OrderName,
): Promise<OrderExplanation | undefined> {
  const clients = await openWebhooks();
  if (clients === undefined) return undefined;
  try {
    return (await clients.webhooks.explainOrderDeliveries(order, { timeoutMs: 10_000 })).explanation;
  } finally {
    clients.close();
  }
}

function showExplanation(
  order: OrderName & { readonly orderNumber: string },
  explanation: OrderExplanation,
  detail: string,
): Output {
  const { waitingFor, heldBy, next, walletName, englishText } = explanation;
  const more = moreCommand(order, explanation);
  return {
    json: {
      order_id: order.orderId,
      order_number: order.orderNumber,
      ...plainJson(OrderExplanationSchema, explanation),
      detail: detail || null,
    },
    text: (width) =>
      [
        `Order ${order.orderNumber} in ${showEnvironment(order.environment)}`,
        showSentences([{ text: englishText, command: '' }]),
        fields(
          [
            ['Status', wordOf(OrderStatusSchema, explanation.orderStatus) ?? ''],
            ['Waits for', wordOf(OrderFactSchema, waitingFor) ?? 'unknown'],
            ['Held by', holderText({ heldBy, walletName })],
            ['Undecided because', detail],
            [waitingFor === OrderFact.NOTHING ? 'Ended' : 'Since', showTime(explanation.sinceTime)],
            [
              'Next',
              [wordOf(OrderNextStepSchema, next) ?? '', showTime(explanation.nextTime)].join(' ').trim(),
            ],
            ['Order', order.orderId],
            ['Concerns', explanation.subjectId],
          ],
          width,
        ),
        `For more:\n${more}`,
      ].join('\n\n'),
  };
}

/** The command that shows the payment, refund or delivery that the fact concerns. */
function moreCommand(
  { merchantId, environment, orderId }: OrderName,
  { subjectId }: OrderExplanation,
): string {
  const [kind] = subjectId.split('_');
  switch (kind) {
    case 'pat':
      return `gatehouse payment show ${merchantId} ${subjectId}`;
    case 'rfd':
      return `gatehouse refund show ${merchantId} ${subjectId} --environment ${environmentWord(environment)}`;
    case 'whd':
      return `gatehouse webhook explain ${merchantId} ${subjectId}`;
    default:
      return `gatehouse order show ${merchantId} ${orderId} --environment ${environmentWord(environment)}`;
  }
}
