/** Diagnostic details of an error; the contract allows twenty. */
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

/** The HTTP status that each category is answered with. */
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
  'transactionTypeError',
  'underPaymentNotAllowed',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** Why the wallet does not do what it was asked. */
export interface Refusal {
  readonly category: ErrorCategory;
  readonly code: ErrorCode;
  readonly description: string;
  readonly parameters: readonly ErrorParameter[];
}

/** Thrown by whatever finds out that a request is refused; answered as the contract's error object. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.description);
    this.refusal = refusal;
  }
}

/** Makes the error to throw. `parameters` by name: `{ amount: '0' }`. */
export function refuse(
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

/** The contract's error object, as an answer, in a request state, or as the whole body of a failure callback. */
export function errorObject({ category, code, description, parameters }: Refusal, at: Date): object {
  return {
    errorCategory: category,
    errorCode: code,
    errorDescription: description.slice(0, maxDescriptionLength),
    errorDateTime: at.toISOString(),
    ...(parameters.length === 0 ? {} : { errorParameters: parameters.slice(0, maxParameters) }),
  };
}
