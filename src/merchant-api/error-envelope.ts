import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';

/** One problem with one field of a request. */
export const errorDetailSchema = Type.Object(
  {
    field: Type.String({
      description: 'The field, parameter or header that has the problem. `body` if the whole body has it.',
    }),
    issue: Type.String({ description: 'The problem, described for developers. Do not parse it.' }),
  },
  {
    $id: 'ErrorDetail',
    title: 'Error detail',
    examples: [{ field: 'amount', issue: 'is required' }],
  },
);

export type ErrorDetail = Static<typeof errorDetailSchema>;

/** The body of every error: docs/merchant-api.md, "Errors". */
export const errorSchema = Type.Object(
  {
    code: Type.Integer({ description: 'The HTTP status of the response.' }),
    message: Type.String({ description: 'The kind of error.' }),
    details: Type.Optional(
      Type.Array(Type.Ref('ErrorDetail#'), {
        description:
          'With 400, 401 and 422: every problem found, at least one. With 404: what is wrong with the path or the method. With 408 and 431: the limit that the request exceeds. A 404 without details means that there is no such order or refund.',
      }),
    ),
  },
  { $id: 'Error', title: 'Error' },
);

export interface ErrorEnvelope {
  readonly code: number;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
}

/** The statuses an error of the merchant API can have. */
export type ErrorStatus = 400 | 401 | 403 | 404 | 422 | 429 | 500 | 503;

/** The refusals of HTTP itself, before a request reaches an endpoint, with their messages. */
export const transportErrors = {
  408: {
    code: 408,
    message: 'Request timeout',
    details: [
      { field: 'request', issue: 'must be sent completely within 10 seconds, and its headers within 5' },
    ],
  },
  431: {
    code: 431,
    message: 'Request header fields too large',
    details: [{ field: 'headers', issue: 'must have at most 16 KiB together with the request line' }],
  },
} as const satisfies Record<number, ErrorEnvelope>;

/** The direct payment endpoint has its own messages: docs/merchant-api.md, "Errors", in parentheses. */
export type ErrorDialect = 'standard' | 'direct';

const errorMessages: Readonly<Record<ErrorDialect, Readonly<Record<ErrorStatus, string>>>> = {
  standard: {
    400: 'Bad request',
    401: 'Unauthorized',
    403: 'Forbidden',
    404: 'Not found',
    422: 'Unprocessable request',
    429: 'Too many requests',
    500: 'Internal server error',
    503: 'The gateway is recovering from a failure; send the same request again later',
  },
  direct: {
    400: 'Invalid request parameters',
    401: 'API key is invalid or missing',
    403: 'Forbidden',
    404: 'Not found',
    422: 'Unprocessable request',
    429: 'Too many requests',
    500: 'The payment could not be processed',
    503: 'The gateway is recovering from a failure; send the same request again later',
  },
};

/** The limit that the request exceeded. */
export type ReachedLimit = 'requests' | 'waiting' | 'open_prompts' | 'recent_prompts';

const limitMessages: Readonly<Record<ReachedLimit, string>> = {
  requests: 'Too many requests',
  waiting: 'Too many of your requests wait for orders; verify without waiting, or wait for fewer orders',
  open_prompts: 'The phone has another payment to confirm',
  recent_prompts: 'The phone has been asked to pay too often',
};

/** The body of a 429. */
export function tooManyRequestsEnvelope(limit: ReachedLimit): ErrorEnvelope {
  return { code: 429, message: limitMessages[limit] };
}

/** The body of an error without details. */
export function errorEnvelope(dialect: ErrorDialect, status: ErrorStatus): ErrorEnvelope {
  return { code: status, message: errorMessages[dialect][status] };
}

/** The body of a 403 for an API key without the scope for refunds. */
export const refundsDeniedEnvelope: ErrorEnvelope = {
  code: 403,
  message:
    'This API key may not refund; give it the scope for refunds in the dashboard, or ask the operator of the gateway',
};

/** The body of a 422: the Idempotency-Key belongs to another request. */
export const keyReusedEnvelope: ErrorEnvelope = {
  code: 422,
  message: 'Unprocessable request',
  details: [
    {
      field: 'Idempotency-Key',
      issue: 'was used with another request in the last 24 hours; use a new key for a new request',
    },
  ],
};

/** The body of a 401. */
export function unauthorizedEnvelope(dialect: ErrorDialect, issue: string): ErrorEnvelope {
  return { ...errorEnvelope(dialect, 401), details: [{ field: 'apiKey', issue }] };
}

/** The body of a 404 for a path or a method that does not exist. Its details distinguish it from the 404 for an unknown order. */
export function noRouteEnvelope(detail: ErrorDetail): ErrorEnvelope {
  return { ...errorEnvelope('standard', 404), details: [detail] };
}

/** The body of a 400. */
export function badRequestEnvelope(dialect: ErrorDialect, details: readonly ErrorDetail[]): ErrorEnvelope {
  return { ...errorEnvelope(dialect, 400), details };
}
