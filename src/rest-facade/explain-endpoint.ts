import { Code, ConnectError } from '@connectrpc/connect';
import type { FastifyInstance } from 'fastify';
import { explainOrder } from '../contract/explain-order.ts';
import { explanationToJson } from '../merchant-api/explanation-json.ts';
import { explainReply } from '../merchant-api/replies.ts';
import { explainBodySchema, fieldNames } from '../merchant-api/requests.ts';
import { limitLines } from '../platform/line-limit.ts';
import { callerOf } from './authentication.ts';
import { callOptions } from './endpoint.ts';
import type { EndpointContext } from './endpoint.ts';
import { readFields, mergedRefusal } from './field-reading.ts';
import { errorResponses, successResponse } from './openapi-responses.ts';
import { logOrderNumber } from './request-log.ts';

export const explainPath = '/api/v1/explain';
export const explainFields = fieldNames(explainBodySchema);

const description = `Explains what an order waits for, who can change that, what happens next, and when.

It is for people and their tools: show \`text\`, or a text of your own for the values of the other fields. Use verify or a webhook to
learn the outcome of a payment.

404 when you have no order with this \`order_number\` in this environment.`;

/** The explanation without webhooks is worth more than a late one with them. */
const webhooksDeadlineMs = 3_000;

/** POST /api/v1/explain. */
export function addExplainEndpoint(
  app: FastifyInstance,
  { orderStories, webhooks, environment, calls, refuseWhen }: EndpointContext,
): void {
  // While the webhooks process is down, each explanation would write a line.
  const logWithoutWebhooks = limitLines((facts: object, count) =>
    app.log.warn(
      { ...facts, count },
      'the webhooks process did not answer, so an order was explained without its webhooks',
    ),
  );
  app.route({
    method: 'POST',
    url: explainPath,
    attachValidation: true,
    onRequest: refuseWhen(calls.find.isFull),
    schema: {
      operationId: 'explainOrder',
      summary: 'Explain what an order waits for',
      description,
      tags: ['Orders'],
      security: [{ apiKey: [] }],
      body: { $ref: 'ExplainRequest#' },
      response: {
        200: successResponse('ExplainReply', 'What the order waits for.'),
        ...errorResponses([400, 401, 403, 404, 429, 500, 503], { requiredField: 'order_number' }),
      },
    },
    handler: async (request, reply) => {
      const reading = readFields(request, explainFields);
      const orderNumber = reading.text('order_number');
      logOrderNumber(request, orderNumber);
      const { merchantId } = callerOf(request);
      const key = { case: 'orderNumber' as const, value: orderNumber };
      const read = () => orderStories.explainOrder({ merchantId, environment, key }, callOptions(request));
      if (reading.problems.length > 0 || reading.schemaProblems.length > 0)
        throw await mergedRefusal(reading, explainFields, read);
      const order = await read();
      if (order.explanation === undefined) throw new TypeError('core explained an order and did not send it');
      const explanation = await explainOrder(order.explanation, async () => {
        const asked = { merchantId, environment, orderId: order.orderId };
        const options = { ...callOptions(request), timeoutMs: webhooksDeadlineMs };
        try {
          return (await webhooks.explainOrderDeliveries(asked, options)).explanation;
        } catch (error) {
          logWithoutWebhooks(Code[ConnectError.from(error).code], { err: error, request_id: request.id });
          throw error;
        }
      });
      return reply.code(200).send(explainReply(explanationToJson(order, explanation)));
    },
  });
}
