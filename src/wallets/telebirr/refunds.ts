import { canonicalDecimal, isGreaterDecimal, sameDecimal } from '../../contract/decimal-text.ts';
import { unasked } from '../connector/json-reply.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import type {
  Acknowledgement,
  NotSentWhy,
  ReversalOutcome,
  Unknown,
  WalletMoney,
} from '../connector/outcomes.ts';
import type { Answer, ExchangePurpose } from '../connector/raw-exchange.ts';
import type { ReversalQuery, ReversalRequest } from '../connector/wallet-connector.ts';
import type { FabricClient } from './fabric-client.ts';
import { telebirrId } from './telebirr-id.ts';
import { queryOrder } from './query-order.ts';
import {
  field,
  inconsistent,
  isAbout,
  isPaid,
  readFabric,
  readOrder,
  readRefusal,
  refused,
  unknown,
} from './read-answers.ts';
import type { TelebirrOrder } from './read-answers.ts';
import { titleOf } from './title.ts';

/**
 * Requests a refund of a payment or of a part. The order is queried first. Nothing is sent if the whole payment is to be refunded
 * and the order shows a refund already. So a repeat is harmless even if telebirr executed the same number twice. The
 * order shows one state for all its refunds, so it does not tell whether a part was refunded before. For a part,
 * Gatehouse relies on the documented rule that a repeated `refund_request_no` refunds nothing.
 */
export async function requestRefund(
  client: FabricClient,
  request: ReversalRequest,
  signal: AbortSignal,
): Promise<Answer<Acknowledgement>> {
  const order = telebirrId(request.attemptId);
  const seen = await queryOrder(client, 'query_reversal', order, signal);
  const before = withoutSending(seen.result, order, request);
  if (before !== undefined) return { result: before, exchanges: seen.exchanges };
  const { result, exchanges } = await sendRefund(client, 'reverse', request, signal, request.description);
  return { result: readRefund(result, order), exchanges: [...seen.exchanges, ...exchanges] };
}

/**
 * Queries a refund that telebirr has acknowledged. The state of the order decides that the whole payment was refunded. It decides
 * neither a part nor a failure, because it may be the state of an earlier refund. For these, the same request is sent again,
 * which is the documented way to ask: telebirr has its number on record, so this refunds nothing.
 */
export async function queryRefund(
  client: FabricClient,
  reversal: ReversalQuery,
  signal: AbortSignal,
): Promise<Answer<ReversalOutcome>> {
  const order = telebirrId(reversal.attemptId);
  const seen = await queryOrder(client, 'query_reversal', order, signal);
  const read = readOrder(seen.result, order);
  if (read.kind === 'not_found') return { ...seen, result: unknown('not_found', read.detail) };
  if (read.kind === 'unknown') return { ...seen, result: read };
  if (read.money === undefined) return { ...seen, result: withoutMoney };
  if (!hasRefund(read)) return { ...seen, result: outcomeWithoutRefund(read) };
  if (isRecordedAsPaidBack(reversal.providerReference))
    return { ...seen, result: completedOutcome(read, reversal) };
  if (sameDecimal(read.money.amount, reversal.amount)) {
    if (read.status === 'REFUND_SUCCESS') return { ...seen, result: completedOutcome(read, read.money) };
    if (read.status === 'REFUNDING') return { ...seen, result: { kind: 'pending' } };
  }
  const again = await sendRefund(client, 'query_reversal', reversal, signal);
  const exchanges = [...seen.exchanges, ...again.exchanges];
  return { result: outcomeByRepeat(again.result, read, reversal), exchanges };
}

type Refund = Pick<ReversalRequest, 'attemptId' | 'reversalId' | 'amount' | 'currency' | 'callbackToken'>;

const sendRefund = (
  client: FabricClient,
  purpose: ExchangePurpose,
  { attemptId, reversalId, amount, currency, callbackToken }: Refund,
  signal: AbortSignal,
  description?: string,
): Promise<Answer<JsonReply>> =>
  client.call(
    {
      purpose,
      method: 'payment.refund',
      path: 'merchant/refund',
      secrets: [callbackToken],
      content: {
        merch_order_id: telebirrId(attemptId),
        refund_request_no: telebirrId(reversalId),
        refund_reason: description === undefined ? undefined : titleOf(description),
        actual_amount: canonicalDecimal(amount),
        trans_currency: currency,
      },
    },
    signal,
  );

/** The result without sending a refund: because of the order's state, or because the order could not be seen. */
function withoutSending(
  reply: JsonReply,
  order: string,
  request: ReversalRequest,
): Acknowledgement | undefined {
  const seen = readOrder(reply, order);
  if (seen.kind === 'unknown') {
    const { detail, retryAfterMs } = seen;
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    return { kind: 'not_sent', why: reasonNotSent(seen), detail, ...wait };
  }
  if (seen.kind === 'not_found' || !isPaid(seen)) {
    return refused(
      'invalid_request',
      '',
      seen.kind === 'not_found' ? seen.detail : `the order is ${seen.status}`,
    );
  }
  if (seen.money === undefined)
    return { kind: 'not_sent', why: 'no_connection', detail: withoutMoney.detail };
  if (
    sameDecimal(seen.money.amount, request.amount) &&
    (seen.status === 'REFUNDING' || seen.status === 'REFUND_SUCCESS')
  ) {
    return { kind: 'accepted', providerReference: 'refund/', queryNow: true };
  }
  if (isGreaterDecimal(request.amount, seen.money.amount)) {
    return refused('invalid_request', '', `the order was paid with ${seen.money.amount} only`);
  }
  return undefined;
}

/** Without the amount of the order, it is unknown whether the refund is partial. */
const withoutMoney = unknown('unreadable_answer', 'a paid order has no amount');

function reasonNotSent({ why }: Unknown): NotSentWhy {
  return why === 'timeout' || why === 'aborted' || why === 'unauthenticated' ? why : 'no_connection';
}

/** A refund as telebirr answers to its request. */
interface AnsweredRefund {
  readonly kind: 'refund';
  /** In upper case. */
  readonly status: string;
  readonly number: string;
  /** Whether the money went back. Only then does the answer have `refund_time`, even if its status is REFUND_DUPLICATED. */
  readonly isPaidBack: boolean;
}

function readAnswer(reply: JsonReply, order: string): AnsweredRefund | Acknowledgement {
  const read = readFabric(reply);
  if (read.kind === 'error') return readRefusal(read);
  if (read.kind !== 'success') return read;
  if (!isAbout(read.content, order)) return inconsistent;
  const status = field(read.content, 'refund_status').toUpperCase();
  const wasPaidBackBefore = status === 'REFUND_DUPLICATED' && field(read.content, 'refund_time') !== '';
  return {
    kind: 'refund',
    status,
    number: field(read.content, 'refund_order_id'),
    isPaidBack: status === 'REFUND_SUCCESS' || wasPaidBackBefore,
  };
}

const unrecognised = (status: string): Unknown =>
  unknown('unrecognised_status', `the refund has the status ${status.slice(0, 64)}`);

/** Reads the acknowledgement of a refund. A request that telebirr had before is REFUND_DUPLICATED, and no second refund. */
function readRefund(reply: JsonReply, order: string): Acknowledgement {
  const read = readAnswer(reply, order);
  if (read.kind !== 'refund') return read;
  if (read.status === 'REFUND_FAILED') return refused('provider_error', read.status, '');
  if (!read.isPaidBack && !['REFUNDING', 'REFUND_DUPLICATED'].includes(read.status))
    return unrecognised(read.status);
  return { kind: 'accepted', providerReference: writeReference(read), queryNow: true };
}

/** The stored form: telebirr's number of the refund, and whether telebirr has reported that the money went back. */
const writeReference = ({ number, isPaidBack }: AnsweredRefund): string =>
  `refund/${number.slice(0, 700)}${isPaidBack ? '/done' : ''}`;

const isRecordedAsPaidBack = (providerReference = ''): boolean => providerReference.endsWith('/done');

const hasRefund = ({ status }: TelebirrOrder): boolean =>
  ['REFUNDING', 'REFUND_SUCCESS', 'REFUND_FAILED'].includes(status);

/** The outcome while the order shows no refund. The order may show the refund later than its answer. */
const outcomeWithoutRefund = (order: TelebirrOrder): ReversalOutcome =>
  isPaid(order)
    ? { kind: 'pending' }
    : unknown('unrecognised_status', `the order has the status ${order.status.slice(0, 64)}`);

const completedOutcome = (
  { transactionId: providerTransactionId }: TelebirrOrder,
  { amount, currency }: WalletMoney,
): ReversalOutcome => ({ kind: 'completed', providerTransactionId, money: { amount, currency } });

/** The outcome of a refund, by the answer to the same request. */
function outcomeByRepeat(reply: JsonReply, order: TelebirrOrder, reversal: ReversalQuery): ReversalOutcome {
  const read = readAnswer(reply, telebirrId(reversal.attemptId));
  if (read.kind === 'unknown') return read;
  if (read.kind === 'not_sent') return unasked(read);
  if (read.kind !== 'refund') return unknown('unrecognised_code', 'telebirr refused the query of the refund');
  if (read.isPaidBack) return completedOutcome(order, reversal);
  if (read.status === 'REFUND_FAILED') return refused('provider_error', read.status, '');
  if (read.status === 'REFUNDING') return { kind: 'pending' };
  if (read.status !== 'REFUND_DUPLICATED') return unrecognised(read.status);
  if (order.status === 'REFUNDING') return { kind: 'pending' };
  const detail = `telebirr had this refund before and does not say how it ended; the last refund of the order is ${order.status}. Look it up in telebirr's portal`;
  return unknown('inconsistent', detail);
}
