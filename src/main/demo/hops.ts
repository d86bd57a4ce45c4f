import { timestampDate } from '@bufbuild/protobuf/wkt';
import {
  OrderEventType,
  OrderStatus,
  PaymentAttemptStatus,
  RefundStatus,
} from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import type { WalletExchange } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { Prompt } from './observer.ts';
import type { ShopCall } from './sandbox-shop.ts';
import type { ShopWebhook } from './webhook-receiver.ts';

/** Something that happened at a participant or between two. */
export interface Hop {
  readonly at: Date;
  readonly where: string;
  readonly what: string;
  /** More details, printed in a faint colour. */
  readonly details: readonly string[];
}

/** A call of the shop to the facade, as two hops: the request, and the response with its meaning. */
export function shopHops(call: ShopCall, meaning: string): readonly Hop[] {
  const back = new Date(call.startedAt.getTime() + call.tookMs);
  return [
    {
      at: call.startedAt,
      where: 'shop → facade',
      what: `POST ${call.path}`,
      details: [JSON.stringify(call.body)],
    },
    {
      at: back,
      where: 'facade → shop',
      what: `${call.status} after ${call.tookMs.toFixed(0)} ms: ${meaning}`,
      details: [JSON.stringify(call.answer), `request ${call.requestId}, the same in every log`],
    },
  ];
}

/** A call of the shop that reads the status of an order or a refund, as one hop. */
export const verifyHop = ({ startedAt, path, status, answer }: ShopCall, found: string): Hop => ({
  at: startedAt,
  where: 'shop → facade',
  what: `POST ${path}: ${status} ${found}`,
  details: [JSON.stringify(answer)],
});

/** An event that core committed and then published to NATS. */
export function eventHop(event: OrderEvent): Hop {
  const { type, sequence, occurTime, order, paymentAttempt, refund } = event;
  const status = OrderStatus[order?.status ?? 0];
  const attempt =
    paymentAttempt === undefined
      ? ''
      : `, payment attempt ${PaymentAttemptStatus[paymentAttempt.status]}${paymentAttempt.declineReason && `: ${paymentAttempt.declineReason}`}`;
  const refunded =
    refund === undefined
      ? ''
      : `, refund of ${refund.amount} ${refund.currency} ${RefundStatus[refund.status]}${refund.failureReason && `: ${refund.failureReason}`}`;
  return {
    at: occurTime === undefined ? new Date(0) : timestampDate(occurTime),
    where: 'core',
    what: `event ${sequence} ${OrderEventType[type]}: order ${status}${attempt}${refunded}`,
    details: [
      ...(type === OrderEventType.PAYMENT_STARTED ? [paymentAttempt?.paymentAttemptId ?? ''] : []),
      `published as orders.sandbox.${order?.merchantId ?? ''}.${OrderEventType[type].toLowerCase()}`,
    ],
  };
}

const meanings: Readonly<Record<string, string>> = {
  token: 'gets an access token',
  initiate: 'requests the payment',
  query: 'queries the payment',
  recover: 'queries whether the request arrived',
  reverse: 'requests the reversal',
  query_reversal: 'queries the reversal',
};

/** A request to or from the wallet. */
export function exchangeHop(exchange: WalletExchange): Hop {
  const { purpose, startTime, method, url, status, responseBody, requestBody, error } = exchange;
  const at = startTime === undefined ? new Date(0) : timestampDate(startTime);
  const path = url.replace(/^https?:\/\/[^/]+/, '').replace(/\?.*$/, '');
  if (purpose === 'callback')
    return {
      at,
      where: 'wallet → wallets',
      what: 'callback: its content is not trusted, so the wallet is queried next',
      details: [statusIn(requestBody)].filter((text) => text !== ''),
    };
  const answer = status === 0 ? `no answer (${error})` : String(status);
  return {
    at,
    where: 'wallets → wallet',
    what: `${meanings[purpose] ?? purpose}: ${answer}${purpose === 'token' ? '' : statusAfter(responseBody)}`,
    details: [`${method} ${path}`],
  };
}

/** The webhook that notifies the shop of its order's end. */
export const webhookHop = ({ at, type, eventId, isGenuine, signature, body }: ShopWebhook): Hop => ({
  at,
  where: 'webhooks → shop',
  what: `${type}, ${isGenuine ? "signed with the shop's secret" : 'but not signed with the secret in demo.json; after a rotation, start Gatehouse again'}`,
  details: [`webhook-id ${eventId}`, `X-SVC-HMAC-Signature ${signature}`, body],
});

/** A prompt on the payer's phone. */
export const promptHop = ({ created_at, amount, currency, channel, outcome }: Prompt): Hop => ({
  at: new Date(created_at),
  where: 'wallet → payer',
  what: `${channel === 'ussd' ? 'USSD prompt' : 'prompt in the app'}: pay ${amount} ${currency}?`,
  details: [`the simulated outcome of this number: ${outcome}`],
});

const status = /"(?:status|transactionStatus)":"([a-zA-Z]+)"/;
const code = /"errorCode":"([a-zA-Z]+)"/;

function statusIn(body: string): string {
  const words = [status.exec(body)?.[1], code.exec(body)?.[1]].filter((word) => word !== undefined);
  return words.length === 0 ? '' : `status: ${words.join(', ')}`;
}

const statusAfter = (body: string): string => {
  const text = statusIn(body).replace('it says: ', '');
  return text === '' ? '' : ` ${text}`;
};
