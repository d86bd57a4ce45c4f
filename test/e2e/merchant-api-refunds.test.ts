import { expect, test } from '@jest/globals';
import { sharedConnection } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import {
  directPath,
  directPayment,
  issuesOf,
  newOrderNumber,
  sharedMerchantApi,
  sharedShop,
} from './merchant-api-harness.ts';
import type { Answer, Shop } from './merchant-api-harness.ts';

const api = sharedMerchantApi({ wallets: 1 });
const database = sharedConnection(() => api.stack.databaseUrl);
const shop = sharedShop(api, () => api.newShop({ mayRefund: true }));

const refund = (body: object, by: Shop = shop) =>
  api.post(by, '/api/v1/refund', { refund_number: newOrderNumber(), reason: 'Shoes came back', ...body });
const verify = (refundNumber: string, by: Shop = shop) =>
  api.post(by, '/api/v1/refund/verify', { refund_number: refundNumber });
const dataOf = ({ json }: Answer) => json['data'] as Readonly<Record<string, string>>;

/** A completed direct payment of 100.50 ETB by a payer of the simulator. Returns its order number. */
async function paidOrder(digits: string, path: string = directPath): Promise<string> {
  const payment = directPayment({ phone: `+2519000000${digits}` });
  expect((await api.post(shop, path, payment)).status).toBe(201);
  await waitUntil('the order is paid', async () => {
    const answer = await api.post(shop, '/api/v1/verify', { order_number: payment.order_number });
    return dataOf(answer)['status'] === 'COMPLETED';
  });
  return payment.order_number;
}

const decided = (refundNumber: string) =>
  waitUntil('the refund is decided', async () => {
    const answer = await verify(refundNumber);
    return answer.status === 200 && dataOf(answer)['status'] !== 'PENDING' && answer;
  });

/** The amounts that the wallet has returned to a payer, by its ledger. */
async function returnedBy(payer: string): Promise<readonly string[]> {
  const response = await fetch(`${api.stack.simulatorUrl}/simulator/charges?payer=${payer}`);
  const { charges } = (await response.json()) as { charges: readonly { reversed: string }[] };
  return charges.map(({ reversed }) => reversed);
}

test('an order is refunded in two parts, once each, and never more than was paid', async () => {
  const orderNumber = await paidOrder('00');
  const part = { order_number: orderNumber, refund_number: newOrderNumber(), amount: '40' };

  const first = await refund(part);
  const again = await refund({ ...part, amount: '40.00' });
  const otherValues = await refund({ ...part, amount: '41' });
  const tooMuch = await refund({ order_number: orderNumber, amount: '60.51' });
  const rest = await refund({ order_number: orderNumber });
  const nothingLeft = await refund({ order_number: orderNumber, amount: '0.01' });

  expect(first.status).toBe(201);
  expect(dataOf(first)).toMatchObject({
    refund_number: part.refund_number,
    order_number: orderNumber,
    amount: '40.00',
    currency: 'ETB',
    reason: 'Shoes came back',
  });
  expect([again.status, dataOf(again)['refund_id']]).toEqual([201, dataOf(first)['refund_id']]);
  expect([otherValues.status, Object.keys(issuesOf(otherValues))]).toEqual([400, ['refund_number']]);
  expect([tooMuch.status, issuesOf(tooMuch)['amount']]).toEqual([
    400,
    expect.stringContaining('at most 60.50 ETB'),
  ]);
  expect([rest.status, dataOf(rest)['amount']]).toEqual([201, '60.50']);
  expect([nothingLeft.status, issuesOf(nothingLeft)['order_number']]).toEqual([
    400,
    expect.stringContaining('already cover'),
  ]);
  for (const { refund_number: number } of [dataOf(first), dataOf(rest)])
    expect(dataOf(await decided(number!))['status']).toBe('COMPLETED');
  expect(await returnedBy('251900000000')).toEqual(['100.5']);
  expect((await refund(part)).json['message']).toBe('The refund is completed');
  const order = await api.post(shop, '/api/v1/verify', { order_number: orderNumber });
  expect([dataOf(order)['status'], Object.keys(dataOf(order)).length]).toEqual(['COMPLETED', 12]);
});

test('a payment of an option that its wallet no longer offers is refunded', async () => {
  const orderNumber = await paidOrder('11', '/api/v1/direct?payment_option=walletb_ussd');
  // The wallet B of the tests is configured without it.
  await database.query(`update core.payment_attempts set payment_option = 'walletb_wallet'
    where payment_option = 'walletb_ussd'`);
  const refundNumber = newOrderNumber();

  const accepted = await refund({ order_number: orderNumber, refund_number: refundNumber });

  expect(accepted.status).toBe(201);
  expect(dataOf(await decided(refundNumber))['status']).toBe('COMPLETED');
});

test('an unknown order, an unpaid one and another merchant’s cannot be refunded', async () => {
  const orderNumber = await paidOrder('10');
  const open = directPayment({ phone: '+251900000020' });
  await api.post(shop, directPath, open);
  const theirs = await refund({ order_number: orderNumber });
  const stranger = await api.newShop({ mayRefund: true });
  const withoutScope = await api.newShop();

  const pending = await refund({ order_number: open.order_number });

  expect([pending.status, issuesOf(pending)['order_number']]).toEqual([
    400,
    expect.stringContaining('PENDING'),
  ]);
  const { refund_number: refundNumber = '' } = dataOf(theirs);
  expect(
    [
      await refund({ order_number: 'nothing' }),
      await refund({ order_number: orderNumber }, stranger),
      await verify('nothing'),
      await verify(refundNumber, stranger),
      await refund({ order_number: orderNumber }, withoutScope),
      await verify(refundNumber, withoutScope),
    ].map(({ status }) => status),
  ).toEqual([404, 404, 404, 404, 403, 403]);
  const testKey = { environment: 'production' as const, apiKey: shop.keys.sandbox };
  const elsewhere = await api.post(shop, '/api/v1/refund/verify', { refund_number: refundNumber }, testKey);
  expect(elsewhere.status).toBe(401);
});
