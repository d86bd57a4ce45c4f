import type { CallOptions, Client } from '@connectrpc/connect';
import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import type { OrderCalls } from './order-calls.ts';

/** What the merchant endpoints need to do their work. */
export interface EndpointContext {
  readonly calls: OrderCalls;
  /** For what is asked now and then only. */
  readonly orders: Client<typeof OrderService>;
  readonly environment: Environment;
  /** Makes the hook of an endpoint whose calls are refused while there are too many. */
  readonly refuseWhen: (isFull: () => boolean) => onRequestHookHandler;
}

const checkDeadlineMs = 8_000;

/** How a request that was refused anyway calls core to hear what else is wrong with it. */
export function checkOptions(request: FastifyRequest): CallOptions {
  return { timeoutMs: checkDeadlineMs, headers: { 'x-request-id': request.id } };
}
