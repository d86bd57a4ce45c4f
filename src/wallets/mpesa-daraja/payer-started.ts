import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { callbackExchange, callbackHeaders } from '../connector/callback-exchange.ts';
import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import { readJson } from '../connector/read-json.ts';
import type {
  CallbackRequest,
  PayerStartedMessage,
  PayerStartedPayment,
  PayerStartedPayments,
  PayerStartedUrls,
  Registration,
  ValidationDecision,
} from '../connector/wallet-connector.ts';
import { attemptIdEnd } from './account-reference.ts';
import { withoutRefusedWords } from './callback-url.ts';
import { readCompactTime } from './eat-time.ts';
import { isReceipt } from './messages.ts';
import type { MpesaClient } from './mpesa-client.ts';
import { writeNote } from './notes.ts';
import { readMpesaError, readRefusal, unknownAfter } from './mpesa-error.ts';

const TextOrNumber = Type.Union([Type.String({ maxLength: 64 }), Type.Number()]);

/** The message about a payment that its payer started. The message before and the one after the payment have one form. */
const messageSchema = Type.Object({
  TransID: Type.String({ maxLength: 64 }),
  TransTime: Type.Optional(TextOrNumber),
  TransAmount: TextOrNumber,
  BusinessShortCode: TextOrNumber,
  BillRefNumber: Type.Optional(Type.String({ maxLength: 64 })),
});

/** Reads a message to the validation or the confirmation URL. */
export function readPayerStarted(
  message: CallbackRequest,
  currency: string,
  secrets: readonly string[],
): PayerStartedMessage {
  const headers = { ...callbackHeaders(message), 'content-type': 'application/json' };
  const read = readJson({ headers, body: message.body }, 'the message');
  const unreadable = (problem: string): PayerStartedMessage => ({
    kind: 'unreadable',
    problem,
    exchange: callbackExchange(message, secrets, problem),
  });
  if (!read.ok) return unreadable(read.problem);
  if (!Value.Check(messageSchema, read.json)) return unreadable('the message is not about a payment');
  const { TransID: receipt, TransTime: time, TransAmount, BusinessShortCode, BillRefNumber } = read.json;
  const amount = canonicalDecimal(String(TransAmount));
  if (!isReceipt(receipt)) return unreadable('the message has no receipt number');
  if (amount === undefined) return unreadable('the amount is not a decimal number');
  const occurredAt = readCompactTime(String(time ?? ''));
  return {
    kind: 'payment',
    payment: {
      providerTransactionId: receipt,
      amount,
      currency,
      reference: (BillRefNumber ?? '').trim().slice(0, 20),
      payee: String(BusinessShortCode),
      ...(occurredAt === undefined ? {} : { occurredAt }),
    },
    exchange: callbackExchange(message, secrets),
  };
}

const rejections: Readonly<Record<Exclude<ValidationDecision, 'accept'>, string>> = {
  refused_payer: 'C2B00011',
  unknown_reference: 'C2B00012',
  wrong_amount: 'C2B00013',
  unknown_payee: 'C2B00015',
  other: 'C2B00016',
};

/** The answer to a validation, which M-Pesa must get within 8 seconds. */
export const validationReply = (decision: ValidationDecision): { status: number; body: string } => ({
  status: 200,
  body: JSON.stringify(
    decision === 'accept'
      ? { ResultCode: '0', ResultDesc: 'Accepted' }
      : { ResultCode: rejections[decision], ResultDesc: 'Rejected' },
  ),
});

/** The note for the attempt whose account reference a confirmed payment names. */
const confirmationNoteOf = ({ providerTransactionId: receipt }: PayerStartedPayment): string =>
  writeNote({ about: 'confirmation', code: '0', receipt });

/** The body that registers our URLs. */
const registrationBody = (shortCode: string, urls: PayerStartedUrls): object => ({
  ShortCode: shortCode,
  ResponseType: urls.withoutAnswer === 'complete' ? 'Completed' : 'Cancelled',
  ConfirmationURL: withoutRefusedWords(urls.confirmation),
  ValidationURL: withoutRefusedWords(urls.validation),
});

const registeredSchema = Type.Union([
  Type.Object({ ResponseCode: TextOrNumber }),
  // M-Pesa Ethiopia.
  Type.Object({ header: Type.Object({ responseCode: TextOrNumber }) }),
]);

/** The answer to a registration. */
export function readRegistration(reply: JsonReply): Registration {
  if (reply.kind !== 'answered') return reply;
  const json = reply.body.ok ? reply.body.json : undefined;
  if (reply.status === 200 && Value.Check(registeredSchema, json)) {
    const code = 'header' in json ? json.header.responseCode : json.ResponseCode;
    if (['0', '200', '00000000'].includes(String(code))) return { kind: 'registered' };
  }
  const error = readMpesaError(json);
  if (error !== undefined && /already registered/i.test(error.text)) return { kind: 'already_registered' };
  const failure = readRefusal(reply);
  return failure === undefined ? unknownAfter(reply) : { kind: 'refused', ...failure };
}

/** The country's part of payer-started payments. */
export interface PayerStartedParts {
  readonly client: MpesaClient;
  readonly settings: { readonly short_code: string; readonly till_number?: string };
  readonly currency: string;
  /** Kept out of exchanges. */
  readonly secrets: readonly string[];
  /** The path that registers URLs, and the fields of its body beside those of every country. */
  readonly registration: { readonly path: string; readonly fields?: Readonly<Record<string, string>> };
  readonly confirm: PayerStartedPayments['confirm'];
}

export const payerStartedPayments = ({
  client,
  settings: { short_code: shortCode, till_number: till },
  currency,
  secrets,
  registration: { path, fields = {} },
  confirm,
}: PayerStartedParts): PayerStartedPayments => ({
  parse: (message) => readPayerStarted(message, currency, secrets),
  replyToValidation: validationReply,
  isPayee: (payee) => payee === shortCode || payee === till,
  attemptIdEnd,
  noteOf: confirmationNoteOf,
  async register(urls, options) {
    const body = { ...registrationBody(shortCode, urls), ...fields };
    const { result, exchanges } = await client.post(
      { purpose: 'register_urls', path, body, secrets: [] },
      options,
    );
    return { result: readRegistration(result), exchanges };
  },
  confirm,
});
