import {
  badRequestEnvelope,
  errorEnvelope,
  keyReusedEnvelope,
  transportErrors,
  unauthorizedEnvelope,
} from '../merchant-api/error-envelope.ts';
import type { ErrorDialect, ErrorStatus } from '../merchant-api/error-envelope.ts';

const requestIdHeader = {
  'X-Request-Id': {
    type: 'string',
    description:
      'The id of this request: yours when you sent a usable one, otherwise a new one. Quote it to support.',
  },
};

const retryAfterHeader = {
  'Retry-After': { type: 'integer', minimum: 1, description: 'Seconds after which to try again.' },
};

const descriptions: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is not valid. `details` names every problem found: correct them and send the request again.',
  401: 'The API key is missing, sent twice, unknown, revoked, expired or of the other environment. `details` names the probable mistake. Send a valid key of this environment.',
  403: 'The merchant may not use this environment: it is suspended, or not activated for production. Ask the operator of the gateway.',
  404: 'Without `details`, there is no such order: check the number and the environment. With `details`, there is no such path or method.',
  422: 'The `Idempotency-Key` was used with another request in the last 24 hours. Use a new key for a new request.',
  429: 'A limit was reached. If it is a limit of the phone or of waiting requests, `message` names it. Send the same request again after `Retry-After`.',
  500: 'The gateway failed. Send the same request again after a few seconds.',
  503: 'The gateway was restored after a failure, and is comparing its records with the wallets. Nothing was changed. Send the same request again after `Retry-After`.',
};

/** The descriptions of errors that differ at the endpoints for refunds. */
export const refundErrors: Partial<Readonly<Record<ErrorStatus, string>>> = {
  403: 'The API key lacks the scope for refunds; `message` says how to get it. Or the merchant may not use this environment.',
  404: 'Without `details`, there is no such order or refund: check the number and the environment. With `details`, there is no such path or method.',
};

/** The direct endpoint has no 403. */
export const directErrors: Partial<Readonly<Record<ErrorStatus, string>>> = {
  401: `${descriptions[401]} Or the merchant is suspended, or not activated for production: verify answers 403 then.`,
};

/** A documented success. Its body is the published schema with that name. `headers` adds headers to the common ones. */
export function successResponse(name: string, description: string, headers: object = {}) {
  return {
    description,
    headers: { ...requestIdHeader, ...headers },
    content: { 'application/json': { schema: { $ref: `${name}#` } } },
  };
}

const transportDescriptions: Readonly<Record<keyof typeof transportErrors, string>> = {
  408: 'The request did not arrive in time. The connection is closed. Send the same request again.',
  431: 'The request line and the headers are larger than 16 KiB together. The connection is closed. Send fewer or shorter headers.',
};

const errorBody = (example: object) => ({ 'application/json': { schema: { $ref: 'Error#' }, example } });

/** The answers of every listener to violations of HTTP, by status. */
const transportResponses = Object.fromEntries(
  Object.entries(transportErrors).map(([status, example]) => {
    const description = transportDescriptions[example.code];
    return [status, { description, headers: requestIdHeader, content: errorBody(example) }] as const;
  }),
);

interface ErrorDocumentation {
  readonly dialect?: ErrorDialect;
  /** A required field of the endpoint, for the example of a 400. */
  readonly requiredField: string;
  /** Descriptions that differ from those of other endpoints. */
  readonly own?: Partial<Readonly<Record<ErrorStatus, string>>>;
}

/** The documented errors of an endpoint, by status, including those of HTTP itself. */
export function errorResponses(
  statuses: readonly ErrorStatus[],
  { dialect = 'standard', requiredField, own = {} }: ErrorDocumentation,
) {
  const responses = statuses.map((status) => {
    const example =
      status === 400
        ? badRequestEnvelope(dialect, [{ field: requiredField, issue: 'is required' }])
        : status === 401
          ? unauthorizedEnvelope(dialect, 'is required: send your API key in the header apiKey')
          : status === 422
            ? keyReusedEnvelope
            : errorEnvelope(dialect, status);
    const headers =
      status === 429 || status === 503 ? { ...requestIdHeader, ...retryAfterHeader } : requestIdHeader;
    return [
      status,
      { description: own[status] ?? descriptions[status], headers, content: errorBody(example) },
    ] as const;
  });
  return { ...Object.fromEntries(responses), ...transportResponses };
}
