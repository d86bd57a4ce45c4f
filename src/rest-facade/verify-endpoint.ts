import type { FastifyInstance } from 'fastify';
import { orderToJson } from '../merchant-api/order-json.ts';
import { verifyReply } from '../merchant-api/replies.ts';
import { fieldNames, verifyBodySchema } from '../merchant-api/requests.ts';
import { callerOf } from './authentication.ts';
import type { EndpointContext } from './endpoint.ts';
import { readFields, refusal } from './field-reading.ts';
import { errorResponses, successResponse } from './openapi-responses.ts';
import { logOrderNumber } from './request-log.ts';

export const verifyPath = '/api/v1/verify';
export const verifyFields = fieldNames(verifyBodySchema);

const description = `Tells where an order stands.

404 when you have no order with this \`order_number\` in this environment.`;

/** POST /api/v1/verify; spec, "Check payment order status". */
export function addVerifyEndpoint(
  app: FastifyInstance,
  { calls, environment, refuseWhen }: EndpointContext,
): void {
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
      body: { $ref: 'VerifyRequest#' },
      response: {
        200: successResponse('VerifyReply', 'The order as it stands.'),
        ...errorResponses([400, 401, 403, 404, 429, 500]),
      },
    },
    handler: async (request, reply) => {
      const reading = readFields(request, verifyFields);
      const orderNumber = reading.text('order_number');
      logOrderNumber(request, orderNumber);
      const { merchantId } = callerOf(request);
      const read = () =>
        calls.find({ merchantId, environment, key: { case: 'orderNumber', value: orderNumber } }, request.id);
      if (reading.problems.length > 0 || reading.schemaProblems.length > 0) {
        throw await refusal(reading, verifyFields, read);
      }
      const { order } = await read();
      if (order === undefined) throw new TypeError('core found an order and did not send it');
      return reply.code(200).send(verifyReply(orderToJson(order)));
    },
  });
}
