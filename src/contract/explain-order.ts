import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  OrderExplanationSchema,
  OrderFact,
  OrderFactHolder,
  OrderNextStep,
} from '../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation } from '../gen/gatehouse/v1/order_explanation_pb.js';
import { orderExplanationText } from './order-explanation-text.ts';

/**
 * The explanation of an order from the two processes that know its facts. Core's fact counts while it waits for something.
 * After that the fact of the order's webhooks counts. `fromWebhooks` is undefined when no `webhooks` process answered.
 */
export function joinExplanations(
  fromCore: OrderExplanation,
  fromWebhooks: OrderExplanation | undefined,
): OrderExplanation {
  if (fromCore.waitingFor !== OrderFact.NOTHING) return fromCore;
  if (fromWebhooks === undefined) return unknownWebhooks(fromCore);
  if (fromWebhooks.waitingFor === OrderFact.NOTHING) return fromCore;
  return { ...fromWebhooks, orderStatus: fromCore.orderStatus };
}

/**
 * As `joinExplanations`. The webhooks are read only when core's fact does not count. An answer that does not come, or comes from a
 * process of an earlier version, leaves them unknown.
 */
export async function explainOrder(
  fromCore: OrderExplanation,
  readWebhooks: () => Promise<OrderExplanation | undefined>,
): Promise<OrderExplanation> {
  if (fromCore.waitingFor !== OrderFact.NOTHING) return fromCore;
  return joinExplanations(fromCore, await readWebhooks().catch(unlessSilent));
}

/** Also of a process that does not know the caller's token, because its settings are of an earlier version. */
const silent = [
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.ResourceExhausted,
  Code.Unauthenticated,
  Code.PermissionDenied,
];

function unlessSilent(error: unknown): undefined {
  if (error instanceof ConnectError && silent.includes(error.code)) return undefined;
  throw error;
}

function unknownWebhooks({ orderStatus }: OrderExplanation): OrderExplanation {
  const facts = {
    waitingFor: OrderFact.WEBHOOKS_UNKNOWN,
    next: OrderNextStep.ASKED_AGAIN,
    walletName: '',
    reason: '',
    subjectId: '',
    orderStatus,
  };
  return create(OrderExplanationSchema, {
    ...facts,
    heldBy: OrderFactHolder.OPERATOR,
    englishText: orderExplanationText(facts),
  });
}
