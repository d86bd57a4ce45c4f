import { create } from '@bufbuild/protobuf';
import { beginning, formatCursor } from '../../contract/event-cursor.ts';
import { orderExplanationText } from '../../contract/order-explanation-text.ts';
import {
  OrderExplanationSchema,
  OrderFact,
  OrderFactHolder,
  OrderNextStep,
} from '../../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation } from '../../gen/gatehouse/v1/order_explanation_pb.js';
import { OrderStatus } from '../../gen/gatehouse/v1/order_pb.js';
import { noDeliveryWaits } from '../domain/explain-order-deliveries.ts';
import type {
  DeliveriesExplanation,
  WebhookFact,
  WebhookHolder,
  WebhookNextStep,
} from '../domain/explain-order-deliveries.ts';
import { timeField } from './webhook-messages.ts';

const facts = {
  NOTHING: OrderFact.NOTHING,
  WEBHOOK_SENT: OrderFact.WEBHOOK_SENT,
  WEBHOOK_ACCEPTED: OrderFact.WEBHOOK_ACCEPTED,
  WEBHOOK_SECRET: OrderFact.WEBHOOK_SECRET,
  WEBHOOK_SECRET_KEY: OrderFact.WEBHOOK_SECRET_KEY,
  WEBHOOK_ENDPOINT_RESUMED: OrderFact.WEBHOOK_ENDPOINT_RESUMED,
  WEBHOOKS_PROCESS: OrderFact.WEBHOOKS_PROCESS,
  WEBHOOK_REDELIVERY: OrderFact.WEBHOOK_REDELIVERY,
} as const satisfies Record<WebhookFact, OrderFact>;

const holders = {
  NOBODY: OrderFactHolder.NOBODY,
  WEBHOOKS_PROCESS: OrderFactHolder.WEBHOOKS_PROCESS,
  MERCHANT: OrderFactHolder.MERCHANT,
  OPERATOR: OrderFactHolder.OPERATOR,
} as const satisfies Record<WebhookHolder, OrderFactHolder>;

const nextSteps = {
  NONE: OrderNextStep.NONE,
  WEBHOOK_SENT: OrderNextStep.WEBHOOK_SENT,
  SECRET_CREATED: OrderNextStep.SECRET_CREATED,
  KEY_RESTORED: OrderNextStep.KEY_RESTORED,
  ENDPOINT_RESUMED: OrderNextStep.ENDPOINT_RESUMED,
  PROCESS_STARTED: OrderNextStep.PROCESS_STARTED,
  WEBHOOK_REDELIVERED: OrderNextStep.WEBHOOK_REDELIVERED,
} as const satisfies Record<WebhookNextStep, OrderNextStep>;

/** The message for an order without a delivery that waits. `cursor` is how far `webhooks` has read; empty for the beginning. */
export const noDeliveryMessage = (cursor: string): OrderExplanation => ({
  ...orderExplanationMessage(noDeliveryWaits),
  eventCursor: cursor === '' ? formatCursor(beginning) : cursor,
});

/** The explanation of an order by its deliveries, as a message with its text. */
export function orderExplanationMessage(explained: DeliveriesExplanation): OrderExplanation {
  const values = {
    waitingFor: facts[explained.waitingFor],
    next: nextSteps[explained.next],
    ...timeField('nextTime', explained.nextAt),
    walletName: '',
    orderStatus: OrderStatus.UNSPECIFIED,
    reason: '',
    subjectId: explained.deliveryId,
  };
  return create(OrderExplanationSchema, {
    ...values,
    heldBy: holders[explained.heldBy],
    ...timeField('sinceTime', explained.since),
    englishText: orderExplanationText(values),
  });
}
