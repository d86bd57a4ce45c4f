import type { FastifyInstance } from 'fastify';
import { refundToJson } from '../merchant-api/refund-json.ts';
import { refundReply } from '../merchant-api/replies.ts';
import { fieldNames, refundBodySchema } from '../merchant-api/requests.ts';
import { callerOf, requireRefundScope } from './authentication.ts';
import { callOptions } from './endpoint.ts';
import type { EndpointContext } from './endpoint.ts';
import { readFields, mergedRefusal } from './field-reading.ts';
import { idempotencyKeyHeader, readIdempotencyKey } from './idempotency-key.ts';
import { errorResponses, refundErrors, successResponse } from './openapi-responses.ts';
import { logOrderNumber } from './request-log.ts';

export const refundPath = '/api/v1/refund';
export const refundFields = fieldNames(refundBodySchema);

const description = `Returns the money of a COMPLETED order to the customer who paid it, in whole or in part.

Safe to repeat: the same values for a \`refund_number\` give the same refund again, so a lost answer never refunds twice.
Other values for that \`refund_number\` get 400. The order stays COMPLETED. Needs an API key with the scope for refunds.`;

/** POST /api/v1/refund. */
export function addRefundEndpoint(app: FastifyInstance, { refunds, environment }: EndpointContext): void {
  app.route({
    method: 'POST',
    url: refundPath,
    attachValidation: true,
    onRequest: requireRefundScope,
    schema: {
      operationId: 'createRefund',
      summary: 'Refund an order',
      description,
      tags: ['Refunds'],
      security: [{ apiKey: [] }],
      headers: idempotencyKeyHeader,
      body: { $ref: 'RefundRequest#' },
      response: {
        201: successResponse('RefundReply', 'The refund is created, now or by an earlier request.'),
        ...errorResponses([400, 401, 403, 404, 422, 429, 500, 503], {
          requiredField: 'order_number',
          own: refundErrors,
        }),
      },
    },
    handler: async (request, reply) => {
      const { idempotencyKey, keyProblems } = readIdempotencyKey(request);
      const fieldReading = readFields(request, refundFields);
      const reading = { ...fieldReading, problems: [...fieldReading.problems, ...keyProblems] };
      const { text } = reading;
      const { merchantId, apiKeyId } = callerOf(request);
      logOrderNumber(request, text('order_number'));
      const message = {
        merchantId,
        apiKeyId,
        environment,
        order: { case: 'orderNumber' as const, value: text('order_number') },
        refundNumber: text('refund_number'),
        amount: text('amount'),
        reason: text('reason'),
        idempotencyKey,
      };
      if (reading.problems.length > 0 || reading.schemaProblems.length > 0) {
        throw await mergedRefusal(reading, refundFields, () =>
          refunds.createRefund({ ...message, validateOnly: true }, callOptions(request)),
        );
      }
      const { refund } = await refunds.createRefund(message, callOptions(request));
      if (refund === undefined) throw new TypeError('core created a refund and did not send it');
      return reply.code(201).send(refundReply(refundToJson(refund)));
    },
  });
}
