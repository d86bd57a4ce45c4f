import { expect } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { ReceivedWebhook } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { directPath, directPayment, newOrderNumber } from './merchant-api-harness.ts';
import type { Answer, MerchantApi, Shop } from './merchant-api-harness.ts';

export const dataOf = ({ json }: Answer) => json['data'] as Readonly<Record<string, string>>;

/** Starts a direct payment, of a registered order if it has that number. */
export async function pay(
  api: MerchantApi,
  shop: Shop,
  change: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const payment = directPayment(change);
  expect((await api.post(shop, directPath, payment)).status).toBe(201);
  return payment.order_number;
}

export const ended = (
  api: MerchantApi,
  shop: Shop,
  order_number: string,
  status: 'COMPLETED' | 'FAILED' | 'EXPIRED',
): Promise<Answer> =>
  waitUntil(`${order_number} is ${status}`, async () => {
    const waits = { headers: { prefer: 'wait=5' } };
    const answer = await api.post(shop, '/api/v1/verify', { order_number }, waits);
    // On a busy machine the facade may answer 500, which a shop would repeat too.
    return answer.status === 200 && dataOf(answer)['status'] === status && answer;
  });

/** Requests a refund, and returns its number. */
export async function refund(
  api: MerchantApi,
  shop: Shop,
  order_number: string,
  amount: string,
): Promise<string> {
  const request = { order_number, refund_number: newOrderNumber(), amount, reason: 'Shoes came back' };
  expect((await api.post(shop, '/api/v1/refund', request)).status).toBe(201);
  return request.refund_number;
}

export const refunded = (api: MerchantApi, shop: Shop, refund_number: string): Promise<Answer> =>
  waitUntil(`refund ${refund_number} is completed`, async () => {
    const answer = await api.post(shop, '/api/v1/refund/verify', { refund_number });
    return answer.status === 200 && dataOf(answer)['status'] === 'COMPLETED' && answer;
  });

/** The event of a webhook whose signature is right. @throws if it is not. */
export function eventOf({ headers, body }: ReceivedWebhook, secret: string) {
  return new Webhook(secret).verify(body, {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  }) as { readonly type: string; readonly data: Readonly<Record<string, string>> };
}
