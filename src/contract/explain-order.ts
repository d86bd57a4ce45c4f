import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  OrderExplanationSchema,
  OrderFact,
  OrderFactHolder,
  OrderNextStep,
} from '../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation } from '../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderStatus } from '../gen/gatehouse/v1/order_pb.js';
import { laterCursor, readCursorText } from './event-cursor.ts';
import { orderExplanationText } from './order-explanation-text.ts';

/**
 * The explanation of an order from the two processes that know its facts. Core's fact counts while it waits for something.
 * After that the fact of the order's webhooks counts, once `webhooks` has read how the order ended. `fromWebhooks` is undefined when
 * no `webhooks` process answered.
 */
export function joinExplanations(
  fromCore: OrderExplanation,
  fromWebhooks: OrderExplanation | undefined,
): OrderExplanation {
  if (fromCore.waitingFor !== OrderFact.NOTHING) return fromCore;
  if (fromWebhooks === undefined) return unknownWebhooks(fromCore);
  if (fromWebhooks.waitingFor === OrderFact.NOTHING)
    return hasReadLastEvent(fromCore, fromWebhooks) ? fromCore : unreadEvent(fromCore);
  return { ...fromWebhooks, orderStatus: fromCore.orderStatus };
}

/**
 * As `joinExplanations`. The webhooks are read only if the order waits for nothing in core. Without an answer, or with that of a process
 * of an earlier version, they are unknown.
 */
export async function explainOrder(
  fromCore: OrderExplanation,
  readWebhooks: () => Promise<OrderExplanation | undefined>,
): Promise<OrderExplanation> {
  if (fromCore.waitingFor !== OrderFact.NOTHING) return fromCore;
  return joinExplanations(fromCore, await readWebhooks().catch(unlessSilent));
}

/**
 * The errors after which the webhooks are unknown. The last two are those of a process that does not know the caller's token, because its
 * settings are of an earlier version.
 */
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

/** Whether `webhooks` has read the order's last event. A process of an earlier version does not tell, and counts as up to date. */
function hasReadLastEvent(fromCore: OrderExplanation, fromWebhooks: OrderExplanation): boolean {
  if (fromCore.eventCursor === '' || fromWebhooks.eventCursor === '') return true;
  const [last, read] = [fromCore, fromWebhooks].map(({ eventCursor }) => readCursorText(eventCursor));
  return last === undefined || read === undefined || laterCursor(last, read) === read;
}

const unreadEvent = ({ orderStatus, sinceTime }: OrderExplanation): OrderExplanation =>
  aboutWebhooks(orderStatus, {
    waitingFor: OrderFact.EVENT_READ,
    heldBy: OrderFactHolder.WEBHOOKS_PROCESS,
    next: OrderNextStep.WEBHOOKS_CREATED,
    ...(sinceTime && { sinceTime }),
  });

const unknownWebhooks = ({ orderStatus }: OrderExplanation): OrderExplanation =>
  aboutWebhooks(orderStatus, {
    waitingFor: OrderFact.WEBHOOKS_UNKNOWN,
    heldBy: OrderFactHolder.OPERATOR,
    next: OrderNextStep.ASKED_AGAIN,
  });

function aboutWebhooks(
  orderStatus: OrderStatus,
  told: Pick<OrderExplanation, 'waitingFor' | 'heldBy' | 'next'> &
    Partial<Pick<OrderExplanation, 'sinceTime'>>,
): OrderExplanation {
  const facts = {
    ...told,
    walletName: '',
    reason: '',
    subjectId: '',
    orderStatus,
  };
  return create(OrderExplanationSchema, { ...facts, englishText: orderExplanationText(facts) });
}
