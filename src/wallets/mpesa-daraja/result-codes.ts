import type { FailureReason } from '../connector/failure-reason.ts';
import type { Unknown } from '../connector/outcomes.ts';
import type { Failure } from '../connector/failure-reason.ts';
import { unknown } from './mpesa-error.ts';

/** The decision by the result code of a payment request. */
export type PushResult =
  | { readonly kind: 'paid' }
  | { readonly kind: 'pending' }
  | ({ readonly kind: 'declined' } & Failure)
  | { readonly kind: 'timed_out' }
  | Unknown;

const pushReasons: ReadonlyMap<string, FailureReason | 'timed_out'> = new Map<
  string,
  FailureReason | 'timed_out'
>([
  ['1', 'insufficient_funds'],
  ['2', 'limit_exceeded'],
  ['3', 'limit_exceeded'],
  ['4', 'limit_exceeded'],
  ['8', 'limit_exceeded'],
  ['17', 'limit_exceeded'],
  ['1001', 'payer_busy'],
  ['1019', 'timed_out'],
  ['1025', 'provider_error'],
  ['1032', 'declined_by_payer'],
  ['1037', 'timed_out'],
  ['2001', 'wrong_pin'],
  ['2028', 'merchant_config'],
  ['8006', 'account_state'],
  ['9999', 'provider_error'],
  ['SFC_IC0003', 'merchant_config'],
  // Ethiopia.
  ['TP40087', 'wrong_pin'],
]);

/** The result of a payment request. Its text is free and changes, so only the code counts. */
export function judgePush(code: string, text: string): PushResult {
  if (code === '0') return { kind: 'paid' };
  if (code === '4999') return { kind: 'pending' };
  const reason = pushReasons.get(code);
  if (reason === 'timed_out') return { kind: 'timed_out' };
  if (reason !== undefined) return { kind: 'declined', reason, providerCode: code, providerText: text };
  return unknown(
    'unrecognised_status',
    `the wallet gave the result code ${code}, which has no known meaning`,
  );
}

/** The initiator lacks the role for reversals. */
export const missingRole = '21';

const reversalReasons: ReadonlyMap<string, FailureReason> = new Map<string, FailureReason>([
  ['1', 'insufficient_funds'],
  ['11', 'account_state'],
  [missingRole, 'merchant_config'],
  ['2001', 'merchant_config'],
  ['2006', 'account_state'],
  ['2028', 'merchant_config'],
  ['8006', 'merchant_config'],
  ['R000002', 'invalid_request'],
]);

/** Why a reversal was refused, by its result code; undefined for codes that decide nothing. */
export const reasonOfReversal = (code: string): FailureReason | undefined => reversalReasons.get(code);

/** The payment was reversed before, by an earlier request or by a person. */
export const alreadyReversed = 'R000001';
