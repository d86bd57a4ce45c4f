import type { Failure, FailureReason } from '../connector/failure-reason.ts';
import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { PaymentRequest } from '../connector/wallet-connector.ts';
import { accountReference } from './account-reference.ts';
import { compactTime } from './eat-time.ts';

/** The account that is paid, with the key of its payment requests. */
export interface Payee {
  readonly shortCode: string;
  readonly passkey: string;
  readonly isTill: boolean;
  /** The paybill or the till. */
  readonly number: string;
}

/** The rules of one country. */
export interface PushRules {
  readonly currencies: readonly string[];
  /** The payer's number, digits only. */
  readonly msisdn: RegExp;
  readonly wallet: string;
}

export type WrittenPush =
  | { readonly ok: true; readonly body: object; readonly password: string }
  | { readonly ok: false; readonly failure: Failure };

const maxDescriptionLength = 13;

/**
 * The payee of the settings.
 * @throws TypeError when the till is missing
 */
export function payeeOf(settings: {
  readonly short_code: string;
  readonly passkey: string;
  readonly transaction_type?: 'paybill' | 'till';
  readonly till_number?: string;
}): Payee {
  const { short_code: shortCode, passkey, till_number: till, transaction_type: type } = settings;
  if (type !== 'till') return { shortCode, passkey, isTill: false, number: shortCode };
  if (till === undefined) throw new TypeError('till_number is missing, which the type till requires');
  return { shortCode, passkey, isTill: true, number: till };
}

/** The password of a request, which proves the passkey at a time. */
export const pushPassword = ({ shortCode, passkey }: Payee, timestamp: string): string =>
  Buffer.from(`${shortCode}${passkey}${timestamp}`).toString('base64');

/** The fields of a payment request that all countries share, or why M-Pesa cannot take it. */
export function writePush(
  payee: Payee,
  rules: PushRules,
  request: PaymentRequest,
  {
    url,
    now,
    password,
  }: { readonly url: string; readonly now: Date; readonly password: (timestamp: string) => string },
): WrittenPush {
  const amount = canonicalDecimal(request.amount);
  const payer = request.payerPhone.replace(/^\+/, '');
  if (!rules.currencies.includes(request.currency)) {
    return invalidPush(`${rules.wallet} is not configured for ${request.currency}`, 'merchant_config');
  }
  if (amount === undefined || amount.includes('.') || amount === '0') {
    return invalidPush(`${rules.wallet} takes whole amounts only`, 'invalid_request');
  }
  if (!rules.msisdn.test(payer)) {
    return invalidPush(`the phone number is not a number of ${rules.wallet}`, 'payer_not_found');
  }
  const timestamp = compactTime(now);
  const secret = password(timestamp);
  const body = {
    BusinessShortCode: payee.shortCode,
    Password: secret,
    Timestamp: timestamp,
    TransactionType: payee.isTill ? 'CustomerBuyGoodsOnline' : 'CustomerPayBillOnline',
    Amount: Number(amount),
    PartyA: payer,
    PartyB: payee.number,
    PhoneNumber: payer,
    CallBackURL: url,
    AccountReference: accountReference(request.attemptId),
    TransactionDesc: descriptionOf(request.description),
  };
  return { ok: true, body, password: secret };
}

/** A short line of letters, digits and spaces. M-Pesa refuses a request without one. */
function descriptionOf(description: string): string {
  const line = description
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9 ]+/g, ' ')
    .replace(/ +/g, ' ')
    .trim();
  return line.slice(0, maxDescriptionLength).trim() || 'Payment';
}

const invalidPush = (providerText: string, reason: FailureReason): WrittenPush => ({
  ok: false,
  failure: { reason, providerCode: '', providerText },
});
