import type { CallOptions, Client } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { OrderStoryService } from '../gen/gatehouse/v1/order_story_service_pb.js';
import type { WebhookService } from '../gen/gatehouse/v1/webhook_service_pb.js';
import type { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import type { RecheckKey } from './authentication.ts';
import type { EndedAnswers } from './ended-answers.ts';
import type { OrderCalls } from './order-calls.ts';
import type { RefuseWhen } from './refuse-when-full.ts';
import type { WaitUntilEnded } from './order-waits.ts';

/** The dependencies of the merchant endpoints. */
export interface EndpointContext {
  readonly calls: OrderCalls;
  readonly endedAnswers: EndedAnswers;
  readonly refunds: Client<typeof RefundService>;
  readonly orderStories: Client<typeof OrderStoryService>;
  /** A client of the `webhooks` process. */
  readonly webhooks: Pick<Client<typeof WebhookService>, 'explainOrderDeliveries'>;
  readonly environment: Environment;
  readonly waitUntilEnded: WaitUntilEnded;
  readonly recheckKey: RecheckKey;
  /** Creates the hook that refuses an endpoint's requests while too many wait. */
  readonly refuseWhen: RefuseWhen;
}

const callDeadlineMs = 8_000;

/** The options of a call that is not batched. */
export function callOptions(request: FastifyRequest): CallOptions {
  return { timeoutMs: callDeadlineMs, headers: { 'x-request-id': request.id } };
}
