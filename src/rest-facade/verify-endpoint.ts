import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Order } from '../gen/gatehouse/v1/order_pb.js';
import type { GetOrderResponse } from '../gen/gatehouse/v1/order_service_pb.js';
import { orderToJson } from '../merchant-api/order-json.ts';
import { verifyReply } from '../merchant-api/replies.ts';
import { fieldNames, verifyBodySchema } from '../merchant-api/requests.ts';
import { createEndOfTurn } from '../platform/end-of-turn.ts';
import { callerOf } from './authentication.ts';
import type { EndpointContext } from './endpoint.ts';
import { readFields, mergedRefusal } from './field-reading.ts';
import { errorResponses, successResponse } from './openapi-responses.ts';
import { logOrderNumber } from './request-log.ts';
import { maxWaitSeconds, waitSecondsOf } from './wait-preference.ts';

export const verifyPath = '/api/v1/verify';
export const verifyFields = fieldNames(verifyBodySchema);

const description = `Returns an order with its status.

With \`Prefer: wait=N\`, the response for a PENDING order is sent when the order has ended, or after N seconds. N is at most
${maxWaitSeconds}. While the order is PENDING, send the request again instead of polling at intervals.

404 when you have no order with this \`order_number\` in this environment.`;

const preferHeaderSchema = Type.Object({
  Prefer: Type.Optional(
    Type.String({
      description: `Preferences of RFC 7240. Only \`wait\` is supported, in whole seconds: more than ${maxWaitSeconds} counts as ${maxWaitSeconds}.`,
      examples: ['wait=20'],
    }),
  ),
});

const appliedHeader = {
  'Preference-Applied': {
    type: 'string',
    description: 'The wait that the gateway used. Absent if `Prefer` was missing or invalid.',
  },
};

/** POST /api/v1/verify: docs/merchant-api.md, "Verify an order". */
export function addVerifyEndpoint(
  app: FastifyInstance,
  { calls, endedAnswers, environment, refuseWhen, waitUntilEnded, recheckKey }: EndpointContext,
): void {
  const endOfTurn = createEndOfTurn();
  app.route({
    method: 'POST',
    url: verifyPath,
    attachValidation: true,
    onRequest: refuseWhen(calls.find.isFull),
    schema: {
      operationId: 'verifyOrder',
      summary: 'Check payment order status',
      description,
      tags: ['Orders'],
      security: [{ apiKey: [] }],
      headers: preferHeaderSchema,
      body: { $ref: 'VerifyRequest#' },
      response: {
        200: successResponse('VerifyReply', 'The order with its current status.', appliedHeader),
        ...errorResponses([400, 401, 403, 404, 429, 500, 503], { requiredField: 'order_number' }),
      },
    },
    handler: async (request, reply) => {
      const reading = readFields(request, verifyFields);
      const orderNumber = reading.text('order_number');
      logOrderNumber(request, orderNumber);
      const { merchantId, endedOrdersVersion } = callerOf(request);
      const name = { merchantId, endedOrdersVersion, orderNumber };
      const read = () =>
        calls.find({ merchantId, environment, key: { case: 'orderNumber', value: orderNumber } }, request.id);
      if (reading.problems.length > 0 || reading.schemaProblems.length > 0) {
        throw await mergedRefusal(reading, verifyFields, read);
      }
      const waitSeconds = waitSecondsOf(request.headers['prefer']);
      request.isWaiting = waitSeconds !== undefined;
      const send = (body: string): FastifyReply => {
        if (waitSeconds !== undefined) reply.header('preference-applied', `wait=${waitSeconds}`);
        return reply.code(200).type('application/json; charset=utf-8').send(body);
      };
      const known = endedAnswers.find(name);
      if (known !== undefined) {
        await endOfTurn();
        return send(known);
      }
      const found = orderIn(await read());
      const order =
        waitSeconds === undefined
          ? found
          : await waitUntilEnded({
              order: found,
              timeoutMs: waitSeconds * 1_000,
              read: async () => {
                const key = { case: 'orderId', value: found.orderId } as const;
                return orderIn(await calls.findAwaited({ merchantId, environment, key }, request.id));
              },
              clientGone: clientGoneSignal(reply),
            });
      // A request may wait for longer than a revoked key may still work.
      if (order !== found) await recheckKey(request);
      const body = JSON.stringify(verifyReply(orderToJson(order)));
      endedAnswers.keep(name, order, body);
      return send(body);
    },
  });
}

function orderIn({ order }: GetOrderResponse): Order {
  if (order === undefined) throw new TypeError('core found an order and did not send it');
  return order;
}

/** Aborts when the client disconnects before the answer. */
function clientGoneSignal({ raw }: FastifyReply): AbortSignal {
  const clientGone = new AbortController();
  raw.once('close', () => clientGone.abort());
  return clientGone.signal;
}
