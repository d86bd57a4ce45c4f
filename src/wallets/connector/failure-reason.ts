/**
 * The reasons for which a wallet refuses or fails a payment, in the order of `walletDeclineReasons` of core. Every connector maps its wallet's
 * codes to these, and stores the wallet's own code and text beside them.
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

/** A definite refusal, with our reason and the wallet's code. */
export interface Failure {
  readonly reason: FailureReason;
  /** The wallet's code, at most 256 characters, for operators and support. Empty when the wallet sent none. */
  readonly providerCode: string;
  /** The wallet's explanation with phone numbers masked, at most 256 characters. Never shown to a customer. */
  readonly providerText: string;
}
