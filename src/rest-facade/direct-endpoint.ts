import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';
import { directOptionPattern } from '../merchant-api/payment-option.ts';
import type { ErrorDetail } from '../merchant-api/error-envelope.ts';
import { orderStatusName } from '../merchant-api/order-json.ts';
import { directReply } from '../merchant-api/replies.ts';
import type { DirectPaymentEnd } from '../merchant-api/replies.ts';
import { directBodySchema, directQuerySchema, fieldNames } from '../merchant-api/requests.ts';
import { callerOf } from './authentication.ts';
import type { EndpointContext } from './endpoint.ts';
import { readFields, mergedRefusal } from './field-reading.ts';
import { idempotencyKeyHeader, readIdempotencyKey } from './idempotency-key.ts';
import { directErrors, errorResponses, successResponse } from './openapi-responses.ts';
import { logOrderNumber } from './request-log.ts';

export const directPath = '/api/v1/direct';
/** Other paths of the same operation, for integrations that have appended the path to another base address. */
export const directAliases = ['/payment/v1/direct', '/api/v1/direct/payment/v1/direct'];
export const directFields = fieldNames(directBodySchema);

const description = `Starts a mobile-money payment: the customer gets a USSD prompt and no hosted page is involved.

Safe to repeat: the same body and \`payment_option\` get 201 again, with the order's current \`payment_status\`. The customer is never
prompted twice. With the \`order_number\` of a registered order, the request starts a payment of that order. The order must be PENDING
and have the same amount and currency, and no payment may be in progress. The same endpoint answers at ${directAliases.map((path) => `\`${path}\``).join(' and ')}.`;

/** POST /api/v1/direct and its aliases: docs/merchant-api.md, "Start a direct payment". */
export function addDirectEndpoint(app: FastifyInstance, context: EndpointContext): void {
  const schema = {
    operationId: 'startDirectPayment',
    summary: 'Initiate direct payment',
    description,
    tags: ['Orders'],
    security: [{ apiKey: [] }],
    querystring: directQuerySchema,
    headers: idempotencyKeyHeader,
    body: { $ref: 'DirectPaymentRequest#' },
    response: {
      201: successResponse(
        'DirectPaymentReply',
        'The payment was started, now or by an earlier request with the same values.',
      ),
      ...errorResponses([400, 401, 404, 422, 429, 500, 503], {
        dialect: 'direct',
        requiredField: 'amount',
        own: directErrors,
      }),
    },
  };
  const route = {
    method: 'POST',
    attachValidation: true,
    onRequest: context.refuseWhen(context.calls.startDirectPayment.isFull),
    config: { errorDialect: 'direct' },
    handler: (request, reply) => startDirectPayment(request, reply, context),
  } satisfies Omit<RouteOptions, 'url'>;
  app.route({ ...route, url: directPath, schema });
  for (const [index, url] of directAliases.entries()) {
    const operationId = `${schema.operationId}Alias${index + 1}`;
    const summary = `${schema.summary} (the same as ${directPath})`;
    app.route({ ...route, url, schema: { ...schema, operationId, summary } });
  }
}

async function startDirectPayment(
  request: FastifyRequest,
  reply: FastifyReply,
  { calls, environment }: EndpointContext,
): Promise<FastifyReply> {
  const option = readPaymentOption(request);
  const { idempotencyKey, keyProblems } = readIdempotencyKey(request);
  const reading = readFields(request, directFields);
  const { text } = reading;
  logOrderNumber(request, text('order_number'));
  const message = {
    merchantId: callerOf(request).merchantId,
    environment,
    orderNumber: text('order_number'),
    amount: text('amount'),
    currency: text('currency'),
    phone: text('phone'),
    paymentOption: 'option' in option ? option.option : '',
    idempotencyKey,
  };
  const problems = [...optionProblems(option, reading.usable), ...reading.problems, ...keyProblems];
  if (problems.length > 0 || reading.schemaProblems.length > 0) {
    throw await mergedRefusal({ ...reading, problems }, ['payment_option', ...directFields], () =>
      calls.startDirectPayment({ ...message, validateOnly: true }, request.id),
    );
  }
  const { order, paymentAttempt } = await calls.startDirectPayment(message, request.id);
  if (order === undefined || paymentAttempt === undefined)
    throw new TypeError('core started a payment and did not send it');
  return reply.code(201).send(directReply(orderStatusName(order), endOf(paymentAttempt)));
}

function endOf({ status, declineReason }: PaymentAttempt): DirectPaymentEnd {
  if (declineReason === 'wrong_amount') return 'wrong_amount';
  const isOver = status === PaymentAttemptStatus.DECLINED || status === PaymentAttemptStatus.TIMED_OUT;
  return isOver ? 'ended' : undefined;
}

/** Core knows which options there are, and names them in its answer to any other. */
function readPaymentOption({ query, body }: FastifyRequest): { option: string } | { problem: ErrorDetail } {
  const field = 'payment_option';
  const inQuery = ownField(query, field);
  if (inQuery === undefined && ownField(body, field) !== undefined)
    return { problem: { field, issue: optionInBody } };
  if (inQuery === undefined) return { option: '' };
  if (typeof inQuery === 'string') return { option: inQuery.slice(0, longestOption) };
  return { problem: { field, issue: 'must be given once' } };
}

const optionInBody =
  'belongs in the query, not in the body, such as /api/v1/direct?payment_option=walleta_ussd';

const ownField = (object: unknown, name: string): unknown =>
  typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? Reflect.get(object, name)
    : undefined;

/** A request whose body has no usable field is not sent to core. Then at least the form of the option is checked. */
function optionProblems(option: ReturnType<typeof readPaymentOption>, isSentToCore: boolean): ErrorDetail[] {
  if ('problem' in option) return [option.problem];
  if (isSentToCore || directOption.test(option.option)) return [];
  const issue = option.option === '' ? 'is required' : 'must be the id of a wallet with _ussd';
  return [{ field: 'payment_option', issue: `${issue}, such as walleta_ussd` }];
}

const directOption = new RegExp(directOptionPattern);

/** Longer than any option. */
const longestOption = 64;
