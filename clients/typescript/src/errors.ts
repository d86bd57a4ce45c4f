import type { ErrorDetail } from './types.ts';

/** Every error of this package. */
export class GatehouseError extends Error {
  override readonly name: string = 'GatehouseError';
  /**
   * Whether the gateway may have carried the request out. Then repeat it only with the same numbers: with a new number, a
   * refund or a payment could be made twice. False when the request was refused or not sent.
   */
  readonly mayHaveHappened: boolean = false;
}

/** The client is set up wrongly. Nothing was sent. */
export class ConfigurationError extends GatehouseError {
  override readonly name = 'ConfigurationError';
}

/** No answer arrived. The request may have been carried out: repeat it with the same numbers, or verify the order. */
export class ConnectionError extends GatehouseError {
  override readonly name: string = 'ConnectionError';
  override readonly mayHaveHappened = true;
  /** The X-Request-Id that was sent. */
  readonly requestId: string;

  constructor(message: string, requestId: string, cause?: unknown) {
    super(`${message} (request id ${requestId})`, { cause });
    this.requestId = requestId;
  }
}

/** No answer arrived in time. */
export class TimedOutError extends ConnectionError {
  override readonly name = 'TimedOutError';
}

/** Something answered that is not a gateway, such as a proxy's page. */
export class UnexpectedAnswerError extends GatehouseError {
  override readonly name = 'UnexpectedAnswerError';
  override readonly mayHaveHappened = true;
  readonly status: number;
  readonly requestId: string;

  constructor(message: string, status: number, requestId: string) {
    super(`${message} (request id ${requestId})`);
    this.status = status;
    this.requestId = requestId;
  }
}

/** The gateway's answer. */
export interface ErrorAnswer {
  readonly status: number;
  /** The `message` of the answer. */
  readonly apiMessage: string;
  /** Every problem that the gateway found. */
  readonly details: readonly ErrorDetail[];
  /** The X-Request-Id of the answer. Quote it to the operator of the gateway. */
  readonly requestId: string;
  /** The seconds after which the request may be repeated. */
  readonly retryAfter: number | undefined;
  /** Whether the status is 5xx, or an earlier try of the request got a 5xx or no answer. */
  readonly mayHaveHappened: boolean;
}

/** The gateway answered with an error. Its subclasses say which. */
export class ApiError extends GatehouseError implements ErrorAnswer {
  override readonly name: string = 'ApiError';
  readonly status: number;
  readonly apiMessage: string;
  readonly details: readonly ErrorDetail[];
  readonly requestId: string;
  readonly retryAfter: number | undefined;
  override readonly mayHaveHappened: boolean;

  constructor(answer: ErrorAnswer, advice?: string) {
    const { status, apiMessage, details, requestId, retryAfter, mayHaveHappened } = answer;
    const problems = details.map(({ field, issue }) => `${field} ${issue}`).join('; ');
    const text = [`${status} ${apiMessage}`, problems, advice].filter((part) => part).join(': ');
    super(`${text} (request id ${requestId})`);
    this.status = status;
    this.apiMessage = apiMessage;
    this.details = details;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.mayHaveHappened = mayHaveHappened;
  }
}

/** 400: correct the fields in `details`. */
export class InvalidRequestError extends ApiError {
  override readonly name = 'InvalidRequestError';
}
/** 401: the API key is missing, unknown, revoked or of the other environment. From direct also: the merchant may not use this environment. */
export class UnauthorizedError extends ApiError {
  override readonly name = 'UnauthorizedError';
}
/** 403: the merchant may not use this environment, or the key may not refund. */
export class ForbiddenError extends ApiError {
  override readonly name = 'ForbiddenError';
}
/** 404: no such order or refund, or the address is not a gateway's. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';

  /** Whether the gateway has no such order or refund. Otherwise the address is wrong, or another server answered. */
  get isUnknownNumber(): boolean {
    return this.apiMessage === 'Not found' && this.details.length === 0;
  }
}
/** 422: the Idempotency-Key was used with another request. */
export class IdempotencyConflictError extends ApiError {
  override readonly name = 'IdempotencyConflictError';
}
/** 429: a limit was reached. Repeat the request after `retryAfter` seconds. */
export class TooManyRequestsError extends ApiError {
  override readonly name = 'TooManyRequestsError';
}
/** 5xx: the gateway failed. The same request may be repeated. */
export class ServerError extends ApiError {
  override readonly name = 'ServerError';
}

/** The error for an answer. `advice` is added to its text. */
export function apiErrorOf(answer: ErrorAnswer, advice?: string): ApiError {
  if (answer.status >= 500) return new ServerError(answer, advice);
  switch (answer.status) {
    case 400:
      return new InvalidRequestError(answer, advice);
    case 401:
      return new UnauthorizedError(answer, advice);
    case 403:
      return new ForbiddenError(answer, advice);
    case 404:
      return new NotFoundError(answer, advice);
    case 422:
      return new IdempotencyConflictError(answer, advice);
    case 429:
      return new TooManyRequestsError(answer, advice);
    default:
      return new ApiError(answer, advice);
  }
}

/** Why a webhook was refused. */
export type WebhookRefusal =
  | 'missing_header'
  | 'malformed_header'
  | 'too_old'
  | 'too_new'
  | 'no_match'
  | 'malformed_body';

const refusals: Readonly<Record<WebhookRefusal, string>> = {
  missing_header: 'The request lacks a header that every webhook has.',
  malformed_header: 'A header of the webhook is malformed.',
  too_old: 'The webhook is too old: it may be a repeated recording, or the clock of this server is wrong.',
  too_new: 'The webhook is from the future: the clock of this server is probably wrong.',
  no_match: 'No secret gives this signature: the body was changed, or the secrets are not the current ones.',
  malformed_body: 'The body is not a JSON object.',
};

/** The webhook is not genuine, or is too old. Answer 401, and do not act on it. */
export class WebhookVerificationError extends GatehouseError {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal) {
    super(refusals[reason]);
    this.reason = reason;
  }
}
