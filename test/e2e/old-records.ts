import { expect } from '@jest/globals';
import type { Client } from 'pg';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment, PaymentAttemptStatus, PaymentType } from '../../src/gen/gatehouse/v1/order_pb.js';
import { RefundService } from '../../src/gen/gatehouse/v1/refund_service_pb.js';
import { SettlementOutcome, SettlementService } from '../../src/gen/gatehouse/v1/settlement_service_pb.js';
import {
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { DeliveryState } from '../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { PaymentAttemptService } from '../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import type { Receiver } from '../integration/webhooks/receivers.ts';
import { makeOperatorsOld, openDashboardUsers } from '../support/dashboard-users.ts';
import { storedId } from '../support/ids.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { sql } from '../support/sql.ts';
import { newOrderNumber, registration } from './merchant-api-harness.ts';
import type { MerchantApi, Shop } from './merchant-api-harness.ts';
import { ended, eventOf, pay, refund, refunded } from './trading-shop.ts';

const environment = Environment.SANDBOX;

/** A phone whose simulated wallet has this outcome. */
const phoneOf = (outcome: string): string => `+2519000000${outcome}`;

/** The records of a merchant that have ended, in every way in which they can. */
export interface EndedRecords {
  readonly shop: Shop;
  /** Of the merchant's orders, and of its webhook endpoint. */
  readonly secrets: { readonly orders: string; readonly endpoint: string };
  readonly registered: ReturnType<typeof registration>;
  readonly refundNumber: string;
  /** By status or story: completed, failed, expired, stray, settled. */
  readonly orders: Readonly<Record<string, string>>;
}

/** Its receiver has then received nine webhooks: three of orders at /orders, and six at the webhook endpoint. */
export async function writeEndedRecords(
  api: MerchantApi,
  receiver: Receiver,
  database: Client,
): Promise<EndedRecords> {
  const { stack } = api;
  const shop = await api.newShop({ mayRefund: true });
  const { merchantId } = shop;
  const { secret } = await stack.webhookClient('operator').rotateSigningSecret({ merchantId, environment });
  const endpoint = await stack
    .webhookEndpointClient('operator')
    .createWebhookEndpoint({ merchantId, environment, url: `${receiver.origin}/endpoint` });
  const registered = registration({ webhook_url: `${receiver.origin}/orders` });
  expect((await api.post(shop, '/api/v1/register', registered)).status).toBe(201);
  const expiring = { ...registration(), webhook_url: `${receiver.origin}/orders` };
  expect((await api.post(shop, '/api/v1/register', expiring)).status).toBe(201);
  await database.query(sql`update core.orders set expires_at = now(), sweep_at = now()
    where order_number = ${expiring.order_number}`);
  const completed = await pay(api, shop, { order_number: registered.order_number, phone: phoneOf('00') });
  const failed = await pay(api, shop, { phone: phoneOf('03') });
  const stray = await pay(api, shop, { phone: phoneOf('19') });
  const settled = await pay(api, shop, { phone: phoneOf('20') });
  await settle(api, shop, settled, database);
  await ended(api, shop, completed, 'COMPLETED');
  const refundNumber = await refund(api, shop, completed, '40');
  await refunded(api, shop, refundNumber);
  for (const number of [failed, stray, settled]) await ended(api, shop, number, 'FAILED');
  await ended(api, shop, expiring.order_number, 'EXPIRED');
  const strays = stack.client(StrayPaymentService, 'reader');
  await waitUntil('the stray money is back', async () => {
    const { strayPayments } = await strays.listStrayPayments({ merchantId });
    return strayPayments.some(({ status }) => status === StrayPaymentStatus.REVERSED);
  });
  await waitUntil('nine webhooks are recorded as delivered', async () => {
    const states = [DeliveryState.DELIVERED];
    const { deliveries } = await stack.webhookClient('operator').listDeliveries({ merchantId, states });
    return deliveries.length === 9;
  });
  return {
    shop,
    secrets: { orders: secret, endpoint: endpoint.secret },
    registered,
    refundNumber,
    orders: { completed, failed, stray, settled, expired: expiring.order_number },
  };
}

/** Two operators settle an attempt that its wallet does not decide. The clock of the attempt is set back by SQL. */
async function settle(api: MerchantApi, shop: Shop, orderNumber: string, database: Client): Promise<void> {
  const { stack } = api;
  const { merchantId } = shop;
  const { userId } = await openDashboardUsers(stack).operator();
  await makeOperatorsOld(stack);
  const key = { case: 'orderNumber' as const, value: orderNumber };
  const { order } = await stack.client(OrderService, 'reader').getOrder({ merchantId, environment, key });
  const attempts = stack.client(PaymentAttemptService, 'reader');
  // An attempt of that age that was not sent yet would time out.
  const id = await waitUntil('the wallet has the request', async () => {
    const { paymentAttempts } = await attempts.listPaymentAttempts({ merchantId, environment });
    const attempt = paymentAttempts.find(({ orderId }) => orderId === order?.orderId);
    return attempt?.status !== PaymentAttemptStatus.REQUESTED && attempt?.paymentAttemptId;
  });
  await database.query(sql`
    update core.payment_attempts set created_at = created_at - interval '5 hours', prompt_until = prompt_until - interval '5 hours'
    where id = ${storedId('pat', id)}`);
  const settlement = await insist('the outcome is unknown', async () => {
    // A worker that has leased the attempt sets its next time itself, and may not know of the earlier clock.
    await database.query(sql`update core.payment_attempts set due_at = now()
      where id = ${storedId('pat', id)} and leased_until is null`);
    const proposed = await stack.client(SettlementService, 'dashboard').proposeSettlement(
      {
        merchantId,
        subject: { case: 'paymentAttemptId', value: id },
        outcome: SettlementOutcome.NOT_PAID,
        reason: 'The provider answered',
        providerReference: 'CASE-8',
      },
      { headers: { 'x-gatehouse-actor': userId } },
    );
    return proposed.settlement;
  });
  const settlementId = settlement?.settlementId ?? '';
  await stack.client(SettlementService, 'operator').confirmSettlement({ settlementId });
}

/** Records that still wait for a wallet, a person or a time. */
export interface OpenRecords {
  /** Registered, with a webhook. */
  readonly registered: string;
  /** Its payer has not answered yet. */
  readonly prompted: { readonly orderNumber: string; readonly phone: string };
  /** Awaits approval. */
  readonly refund: { readonly number: string; readonly id: string };
  /** Of a merchant whose signing secret was not shown, so its webhook waits. */
  readonly unsigned: { readonly shop: Shop; readonly orderNumber: string };
}

export async function writeOpenRecords(
  api: MerchantApi,
  receiver: Receiver,
  { shop, orders }: EndedRecords,
): Promise<OpenRecords> {
  const { stack } = api;
  const { merchantId } = shop;
  const order = registration({ webhook_url: `${receiver.origin}/orders` });
  expect((await api.post(shop, '/api/v1/register', order)).status).toBe(201);
  const phone = phoneOf('20');
  const prompted = await pay(api, shop, { phone });

  const approvalLimits = [{ currency: 'ETB', amount: '50' }];
  await stack
    .client(MerchantService, 'operator')
    .updateMerchant({ merchantId, refundPolicy: { approvalLimits } });
  const refunds = stack.client(RefundService, 'reader');
  const orderNumber = { case: 'orderNumber' as const, value: orders['completed'] ?? '' };
  await waitUntil('core applies the limit', async () => {
    const { order: found } = await stack
      .client(OrderService, 'reader')
      .getOrder({ merchantId, environment, key: orderNumber });
    const { approvalAbove } = await stack
      .client(RefundService, 'dashboard')
      .getRefundable({ merchantId, environment, orderId: found?.orderId ?? '' });
    return approvalAbove !== '';
  });
  const number = await refund(api, shop, orderNumber.value, '30');
  const { refund: awaiting } = await refunds.getRefund({
    ...{ merchantId, environment },
    name: { case: 'refundNumber', value: number },
  });

  const other = await api.newShop();
  const unsigned = registration({ webhook_url: `${receiver.origin}/unsigned` });
  expect((await api.post(other, '/api/v1/register', unsigned)).status).toBe(201);
  await pay(api, other, { order_number: unsigned.order_number, phone: phoneOf('00') });
  await ended(api, other, unsigned.order_number, 'COMPLETED');
  const states = [DeliveryState.PENDING];
  await waitUntil('its webhook waits', async () => {
    const { deliveries } = await stack
      .webhookClient('operator')
      .listDeliveries({ merchantId: other.merchantId, states });
    return deliveries.length === 1;
  });
  return {
    registered: order.order_number,
    prompted: { orderNumber: prompted, phone },
    refund: { number, id: awaiting?.refundId ?? '' },
    unsigned: { shop: other, orderNumber: unsigned.order_number },
  };
}

/** Finishes what waits: the payments, the refund, the webhook. Seven webhooks follow: two at /orders, four at the endpoint, one at /unsigned. */
export async function finishOpenRecords(
  api: MerchantApi,
  { shop }: EndedRecords,
  open: OpenRecords,
): Promise<{ readonly unsignedSecret: string }> {
  const { stack } = api;
  const { merchantId } = shop;
  await pay(api, shop, { order_number: open.registered, phone: phoneOf('00') });
  await ended(api, shop, open.registered, 'COMPLETED');

  const payer = encodeURIComponent(open.prompted.phone);
  const prompts = `${stack.simulatorUrl}/simulator/prompts`;
  const listed = (await (await fetch(`${prompts}?payer=${payer}`)).json()) as {
    readonly prompts: readonly { readonly id: string }[];
  };
  const approved = await fetch(`${prompts}/${listed.prompts[0]?.id ?? ''}/approve`, { method: 'POST' });
  expect(approved.status).toBe(200);
  await ended(api, shop, open.prompted.orderNumber, 'COMPLETED');

  await stack.client(RefundService, 'operator').approveRefund({ merchantId, refundId: open.refund.id });
  await refunded(api, shop, open.refund.number);
  await refunded(api, shop, await refund(api, shop, open.prompted.orderNumber, '10'));

  const { secret } = await stack
    .webhookClient('operator')
    .rotateSigningSecret({ merchantId: open.unsigned.shop.merchantId, environment });
  return { unsignedSecret: secret };
}

/**
 * Writes records that only this version knows: a payment link, and a webhook endpoint for its events. Returns the
 * order number.
 */
export async function writeNewRecords(
  { stack }: MerchantApi,
  receiver: Receiver,
  { shop: { merchantId } }: EndedRecords,
): Promise<string> {
  const link = { orderNumber: newOrderNumber(), paymentType: PaymentType.LINK, reason: 'Books' };
  const price = { amount: '100.50', currency: 'ETB' };
  await stack.webhookEndpointClient('operator').createWebhookEndpoint({
    ...{ merchantId, environment, url: `${receiver.origin}/links` },
    eventTypes: ['payment_link.created', 'payment_link.completed'],
  });
  await stack.client(OrderService, 'operator').registerOrder({ merchantId, environment, ...link, ...price });
  await waitUntil('the webhook about the link has arrived', () =>
    receiver.webhooks.some(({ target }) => target === '/links'),
  );
  return link.orderNumber;
}

/** Whether the endpoint of the merchant has the event of the order. */
export const hasArrived = (
  { webhooks }: Receiver,
  { secrets }: EndedRecords,
  expected: { readonly type: string; readonly orderNumber: string },
): Promise<unknown> =>
  waitUntil(`${expected.type} of ${expected.orderNumber} has arrived`, () =>
    webhooks.some((webhook) => {
      if (webhook.target !== '/endpoint') return false;
      const { type, data } = eventOf(webhook, secrets.endpoint);
      return type === expected.type && data['order_number'] === expected.orderNumber;
    }),
  );
