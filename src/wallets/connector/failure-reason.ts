/**
 * Why a wallet refused or failed a payment, in Gatehouse's own words. Every connector maps its wallet's codes onto
 * these; what the wallet itself said stands beside them.
 */
export const failureReasons = [
  'insufficient_funds',
  'wrong_pin',
  'declined_by_payer',
  'payer_not_found',
  'limit_exceeded',
  'account_state',
  'payer_busy',
  'invalid_request',
  'merchant_config',
  'provider_error',
] as const;

export type FailureReason = (typeof failureReasons)[number];

/** A definite no, in our word and in the wallet's. */
export interface Failure {
  readonly reason: FailureReason;
  /** The wallet's code, at most 256 characters; for the operator and for support. Empty when it gave none. */
  readonly providerCode: string;
  /** The wallet's explanation with phone numbers masked, at most 256 characters. Never shown to a customer. */
  readonly providerText: string;
}
