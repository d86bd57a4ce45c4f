import type { FastifyInstance } from 'fastify';
import { refundToJson } from '../merchant-api/refund-json.ts';
import { verifyRefundReply } from '../merchant-api/replies.ts';
import { fieldNames, verifyRefundBodySchema } from '../merchant-api/requests.ts';
import { callerOf, requireRefundScope } from './authentication.ts';
import { callOptions } from './endpoint.ts';
import type { EndpointContext } from './endpoint.ts';
import { readFields, mergedRefusal } from './field-reading.ts';
import { errorResponses, refundErrors, successResponse } from './openapi-responses.ts';
import { logOrderNumber } from './request-log.ts';

export const verifyRefundPath = '/api/v1/refund/verify';
export const verifyRefundFields = fieldNames(verifyRefundBodySchema);

const description = `Returns a refund with its status.

404 when you have no refund with this \`refund_number\` in this environment. Needs an API key with the scope for refunds.`;

/** POST /api/v1/refund/verify. */
export function addVerifyRefundEndpoint(
  app: FastifyInstance,
  { refunds, environment }: EndpointContext,
): void {
  app.route({
    method: 'POST',
    url: verifyRefundPath,
    attachValidation: true,
    onRequest: requireRefundScope,
    schema: {
      operationId: 'verifyRefund',
      summary: 'Check refund status',
      description,
      tags: ['Refunds'],
      security: [{ apiKey: [] }],
      body: { $ref: 'VerifyRefundRequest#' },
      response: {
        200: successResponse('VerifyRefundReply', 'The refund with its current status.'),
        ...errorResponses([400, 401, 403, 404, 429, 500, 503], {
          requiredField: 'refund_number',
          own: refundErrors,
        }),
      },
    },
    handler: async (request, reply) => {
      const reading = readFields(request, verifyRefundFields);
      const { merchantId } = callerOf(request);
      const name = { case: 'refundNumber' as const, value: reading.text('refund_number') };
      const read = () => refunds.getRefund({ merchantId, environment, name }, callOptions(request));
      if (reading.problems.length > 0 || reading.schemaProblems.length > 0) {
        throw await mergedRefusal(reading, verifyRefundFields, read);
      }
      const { refund } = await read();
      if (refund === undefined) throw new TypeError('core found a refund and did not send it');
      logOrderNumber(request, refund.orderNumber);
      return reply.code(200).send(verifyRefundReply(refundToJson(refund)));
    },
  });
}
