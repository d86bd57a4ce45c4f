import type { CallOptions, Client } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';

/** What the merchant endpoints need to do their work. */
export interface EndpointContext {
  readonly orders: Client<typeof OrderService>;
  readonly environment: Environment;
}

/** Long enough for a core that is being restarted, and short enough to answer before a request times out. */
const orderDeadlineMs = 8_000;

/**
 * How a merchant's request calls core: with its id, and not cancelled when the client goes away. A write that is under
 * way is finished, so that the merchant's retry finds it done; a read costs less than the trouble of calling it back.
 */
export function callOptions(request: FastifyRequest): CallOptions {
  return { timeoutMs: orderDeadlineMs, headers: { 'x-request-id': request.id } };
}
