/** Diagnostic details of an error. The contract allows twenty. */
export interface ErrorParameter {
  readonly key: string;
  readonly value: string;
}

/** The contract's error categories. */
export const errorCategories = [
  'businessRule',
  'validation',
  'authorisation',
  'identification',
  'internal',
  'serviceUnavailable',
] as const;

export type ErrorCategory = (typeof errorCategories)[number];

/** The HTTP status of each category. */
export const statusByCategory: Readonly<Record<ErrorCategory, number>> = {
  businessRule: 400,
  validation: 400,
  authorisation: 401,
  identification: 404,
  internal: 500,
  serviceUnavailable: 503,
};

/** The error codes of the contract that this wallet uses. */
export const errorCodes = [
  'clientAuthorisationError',
  'currencyNotSupported',
  'dailyValueLimitExceeded',
  'duplicateRequest',
  'formatError',
  'genericError',
  'greaterThanTransactionMaxValue',
  'identifierError',
  'incorrectState',
  'insufficientFunds',
  'invalidOffset',
  'lengthError',
  'lessThanTransactionMinValue',
  'mandatoryValueNotSupplied',
  'negativeValue',
  'overPaymentNotAllowed',
  'rateLimitError',
  'requestDeclined',
  'samePartiesError',
  'transactionTypeError',
  'underPaymentNotAllowed',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** The reason for which the wallet refuses a request. */
export interface Refusal {
  readonly category: ErrorCategory;
  readonly code: ErrorCode;
  readonly description: string;
  readonly parameters: readonly ErrorParameter[];
}

/** Thrown when a request is refused. The answer is the contract's error object. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.description);
    this.refusal = refusal;
  }
}

/** Creates the error to throw. `parameters` by name: `{ amount: '0' }`. */
export function refusedError(
  category: ErrorCategory,
  code: ErrorCode,
  description: string,
  parameters: Readonly<Record<string, string>> = {},
): RefusedError {
  return new RefusedError(refusal(category, code, description, parameters));
}

export function refusal(
  category: ErrorCategory,
  code: ErrorCode,
  description: string,
  parameters: Readonly<Record<string, string>> = {},
): Refusal {
  return {
    category,
    code,
    description,
    parameters: Object.entries(parameters).map(([key, value]) => ({ key, value })),
  };
}

const maxDescriptionLength = 256;
const maxParameters = 20;

/** The contract's error object. It is used as an answer, in a request state, and as the body of a failure callback. */
export function errorObject({ category, code, description, parameters }: Refusal, at: Date): object {
  return {
    errorCategory: category,
    errorCode: code,
    errorDescription: description.slice(0, maxDescriptionLength),
    errorDateTime: at.toISOString(),
    ...(parameters.length === 0 ? {} : { errorParameters: parameters.slice(0, maxParameters) }),
  };
}
