import type { FastifyInstance } from 'fastify';
import { registerReply } from '../merchant-api/replies.ts';
import { fieldNames, registerBodySchema } from '../merchant-api/requests.ts';
import { callerOf } from './authentication.ts';
import type { EndpointContext } from './endpoint.ts';
import { readFields, mergedRefusal } from './field-reading.ts';
import { idempotencyKeyHeader, readIdempotencyKey } from './idempotency-key.ts';
import { errorResponses, successResponse } from './openapi-responses.ts';
import { logOrderNumber } from './request-log.ts';

export const registerPath = '/api/v1/register';
export const registerFields = fieldNames(registerBodySchema);

const description = `Registers a payment order and returns the URL of its checkout page.

Safe to repeat: the same values for an \`order_number\` whose order is PENDING or COMPLETED give the same \`checkout_url\` again.
Any other request with a taken \`order_number\` gets 400, with a detail on \`order_number\`.`;

/** POST /api/v1/register: docs/merchant-api.md, "Register a payment order". */
export function addRegisterEndpoint(
  app: FastifyInstance,
  { calls, environment, refuseWhen }: EndpointContext,
): void {
  app.route({
    method: 'POST',
    url: registerPath,
    attachValidation: true,
    onRequest: refuseWhen(({ headers }) => calls.register.isFull('idempotency-key' in headers)),
    schema: {
      operationId: 'registerOrder',
      summary: 'Register payment order',
      description,
      tags: ['Orders'],
      security: [{ apiKey: [] }],
      headers: idempotencyKeyHeader,
      body: { $ref: 'RegisterRequest#' },
      response: {
        201: successResponse('RegisterReply', 'The order is registered, now or by an earlier request.'),
        ...errorResponses([400, 401, 403, 404, 422, 429, 500, 503], { requiredField: 'amount' }),
      },
    },
    handler: async (request, reply) => {
      const { idempotencyKey, keyProblems } = readIdempotencyKey(request);
      const fieldReading = readFields(request, registerFields);
      const reading = { ...fieldReading, problems: [...fieldReading.problems, ...keyProblems] };
      const { text } = reading;
      logOrderNumber(request, text('order_number'));
      const message = {
        merchantId: callerOf(request).merchantId,
        environment,
        orderNumber: text('order_number'),
        amount: text('amount'),
        currency: text('currency'),
        reason: text('reason'),
        customerPhone: text('customer_phone'),
        returnUrl: text('return_url'),
        webhookUrl: text('webhook_url'),
        businessName: text('business_name'),
        idempotencyKey,
      };
      if (reading.problems.length > 0 || reading.schemaProblems.length > 0) {
        throw await mergedRefusal(reading, registerFields, () =>
          calls.register({ ...message, validateOnly: true }, request.id),
        );
      }
      const { checkoutUrl } = await calls.register(message, request.id);
      return reply.code(201).send(registerReply(checkoutUrl));
    },
  });
}
