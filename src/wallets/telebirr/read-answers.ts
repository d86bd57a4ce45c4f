import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { Failure } from '../connector/failure-reason.ts';
import { unasked } from '../connector/json-reply.ts';
import type { JsonAnswer, JsonReply } from '../connector/json-reply.ts';
import { maskProviderText } from '../connector/mask-text.ts';
import type {
  Acknowledgement,
  PaymentOutcome,
  Recovery,
  Unknown,
  UnknownWhy,
  WalletMoney,
} from '../connector/outcomes.ts';

export const unknown = (why: UnknownWhy, detail: string): Unknown => ({ kind: 'unknown', why, detail });

export const refused = (reason: Failure['reason'], providerCode: string, providerText: string) =>
  ({ kind: 'refused', reason, providerCode, providerText }) as const;

const content = Type.Record(Type.String(), Type.Unknown());

const success = Type.Object({
  result: Type.Literal('SUCCESS'),
  code: Type.Union([Type.Literal('0'), Type.Literal(0)]),
  biz_content: content,
});

const text = Type.Union([Type.String(), Type.Number()]);
/** The gateway and the business have names of their own for the same two fields, and may send both. */
const failure = Type.Object({
  code: Type.Optional(text),
  errorCode: Type.Optional(text),
  msg: Type.Optional(Type.String()),
  errorMsg: Type.Optional(Type.String()),
});

/** A code with which telebirr or its gateway refused a call. */
interface FabricError {
  readonly code: string;
  readonly text: string;
}

/** An answer: the content of a success, an error, or why it decides nothing. */
export type FabricReading =
  | { readonly kind: 'success'; readonly content: Readonly<Record<string, unknown>> }
  | ({ readonly kind: 'error'; readonly answer: JsonAnswer } & FabricError)
  | Unknown
  | Extract<JsonReply, { kind: 'not_sent' }>;

/** Only `result` SUCCESS with `code` 0 and status 200 is a success: errors come with 299, 400, 403 and 500. */
export function readFabric(reply: JsonReply): FabricReading {
  if (reply.kind !== 'answered') return reply;
  const { status, body } = reply;
  const answered = `telebirr answered ${status}`;
  if (!body.ok) {
    return withWait(
      unknown(status === 200 ? 'unreadable_answer' : unknownReasonOf(status), `${answered}: ${body.problem}`),
      reply,
    );
  }
  if (Value.Check(success, body.json)) {
    if (status === 200) return { kind: 'success', content: body.json.biz_content };
    return unknown(unknownReasonOf(status), `${answered}, although its body reports success`);
  }
  const error = readError(body.json);
  if (error !== undefined) return { kind: 'error', answer: reply, ...error };
  const why = status === 200 ? 'unreadable_answer' : unknownReasonOf(status);
  return withWait(unknown(why, `${answered}, in an unknown form`), reply);
}

function readError(json: unknown): FabricError | undefined {
  if (!Value.Check(failure, json)) return undefined;
  const code = String(json.errorCode ?? json.code ?? '');
  if (code === '' || code === '0') return undefined;
  return { code: safeCode(code), text: maskProviderText(json.errorMsg ?? json.msg ?? '') };
}

/** Codes of up to 11 digits are not masked, although they look like phone numbers. */
const safeCode = (code: string): string => (/^[0-9]{1,11}$/.test(code) ? code : maskProviderText(code));

const unknownReasonOf = (status: number): UnknownWhy => {
  if (status >= 500) return 'server_error';
  if (status === 429) return 'rate_limited';
  return status === 401 ? 'unauthenticated' : 'unexpected_status';
};

const withWait = (result: Unknown, { retryAfterMs }: JsonAnswer): Unknown =>
  retryAfterMs === undefined ? result : { ...result, retryAfterMs };

const quotaExceeded = '49401021002';
const signatureRefused = '60200099';
/** The codes that refuse a call. All other codes leave it open. */
const refusals: ReadonlyMap<string, Failure['reason']> = new Map<string, Failure['reason']>([
  [signatureRefused, 'merchant_config'],
  ['49401024995', 'invalid_request'],
]);

const orderNotFound = '60330006';

/** Why an error decides nothing. */
function unknownAfter({ code, text, answer }: Extract<FabricReading, { kind: 'error' }>): Unknown {
  const detail = `telebirr answered ${answer.status} with ${code} ${text}`.trim();
  if (code === quotaExceeded || answer.status === 429) {
    return withWait(unknown('rate_limited', detail), answer);
  }
  if (code === signatureRefused || answer.status === 401) return unknown('unauthenticated', detail);
  const why = answer.status >= 500 ? 'server_error' : 'unrecognised_code';
  return withWait(unknown(why, detail), answer);
}

export function readRefusal(error: Extract<FabricReading, { kind: 'error' }>): Acknowledgement {
  const reason = refusals.get(error.code);
  if (reason !== undefined) return refused(reason, error.code, error.text);
  if (error.answer.status === 404 && /can ?not find api/i.test(error.text)) {
    return refused('merchant_config', error.code, error.text);
  }
  return unknownAfter(error);
}

/** The prepay id of a new order, with which the payer's page is built. */
export function readPreOrder(
  reply: JsonReply,
  order: string,
): { readonly kind: 'created'; readonly prepayId: string } | Acknowledgement {
  const read = readFabric(reply);
  if (read.kind === 'error') return unlessTokenRefused(readRefusal(read));
  if (read.kind !== 'success') return unlessTokenRefused(read);
  const prepayId = field(read.content, 'prepay_id');
  if (prepayId === '') return unknown('unreadable_answer', 'the new order has no prepay_id');
  if (!isAbout(read.content, order)) return inconsistent;
  return { kind: 'created', prepayId };
}

/** telebirr refused even a new access token, and has not created the order. So the order may be requested again. */
const unlessTokenRefused = (read: Acknowledgement): Acknowledgement =>
  read.kind === 'unknown' && read.why === 'unauthenticated'
    ? { kind: 'not_sent', why: 'no_token', detail: read.detail }
    : read;

export const inconsistent = unknown('inconsistent', 'the answer concerns another order');

/** A field by its name, or by its camel case, which was seen once. */
export function field(fields: Readonly<Record<string, unknown>>, name: string): string {
  const camel = name.replace(/_([a-z])/g, (_found, letter: string) => letter.toUpperCase());
  const value = fields[name] ?? fields[camel];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export const isAbout = (fields: Readonly<Record<string, unknown>>, order: string): boolean =>
  ['', order].includes(field(fields, 'merch_order_id'));

/** An order as `queryOrder` shows it. */
export interface TelebirrOrder {
  readonly kind: 'order';
  /** In upper case. */
  readonly status: string;
  readonly transactionId: string;
  readonly money: WalletMoney | undefined;
}

/** Reads the answer to `queryOrder`. The state is `order_status` in the sample and `trade_status` in the table. */
export function readOrder(
  reply: JsonReply,
  order: string,
): TelebirrOrder | { readonly kind: 'not_found'; readonly detail: string } | Unknown {
  const read = readFabric(reply);
  if (read.kind === 'not_sent') return unasked(read);
  if (read.kind === 'unknown') return read;
  if (read.kind === 'error') {
    const isUnknownOrder = read.code === orderNotFound || /order\b.*\bnot (?:found|exist)/i.test(read.text);
    if (isUnknownOrder)
      return { kind: 'not_found', detail: `telebirr does not know the order (${read.code})` };
    return unknownAfter(read);
  }
  if (!isAbout(read.content, order)) return inconsistent;
  const status = (field(read.content, 'order_status') || field(read.content, 'trade_status')).toUpperCase();
  if (status === '') return unknown('unreadable_answer', 'the order has no status');
  return {
    kind: 'order',
    status,
    transactionId: field(read.content, 'trans_id') || field(read.content, 'payment_order_id'),
    money: moneyOf(read.content),
  };
}

function moneyOf(fields: Readonly<Record<string, unknown>>): WalletMoney | undefined {
  const amount = canonicalDecimal(field(fields, 'total_amount'));
  const currency = field(fields, 'trans_currency').toUpperCase();
  return amount === undefined || currency === '' ? undefined : { amount, currency };
}

/** The statuses of a paid order, even if the money was returned later. Notifications and queries have words of their own. */
const paidStatuses: ReadonlySet<string> = new Set([
  'PAY_SUCCESS',
  'COMPLETED',
  'REFUNDING',
  'REFUND_SUCCESS',
  'REFUND_FAILED',
]);
const openStatuses: ReadonlySet<string> = new Set(['WAIT_PAY', 'PAYING', 'ACCEPTED', 'PENDING']);

export const isPaid = ({ status }: TelebirrOrder): boolean => paidStatuses.has(status);

/** The outcome of a payment, from its order. telebirr gives no reason for a failure. */
export function readPayment(reply: JsonReply, order: string): PaymentOutcome {
  const read = readOrder(reply, order);
  if (read.kind === 'not_found') return unknown('not_found', read.detail);
  if (read.kind === 'unknown') return read;
  const { status, transactionId, money } = read;
  if (openStatuses.has(status)) return { kind: 'pending' };
  if (isPaid(read)) {
    if (transactionId === '' || money === undefined) {
      return unknown('unreadable_answer', 'a paid order has no transaction id or no amount');
    }
    return { kind: 'completed', providerTransactionId: transactionId, ...money, fees: [] };
  }
  if (status === 'PAY_FAILED') {
    return { kind: 'declined', reason: 'provider_error', providerCode: status, providerText: '' };
  }
  if (status === 'ORDER_CLOSED') return { kind: 'timed_out' };
  return unknown('unrecognised_status', `the order has the status ${status.slice(0, 64)}`);
}

/** Whether telebirr knows an order whose answer was lost. */
export function readRecovery(reply: JsonReply, order: string): Recovery {
  const read = readOrder(reply, order);
  if (read.kind === 'not_found') return { kind: 'not_found' };
  return read.kind === 'unknown' ? read : { kind: 'found', providerReference: order };
}
