import { setTimeout as delay } from 'node:timers/promises';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type pg from 'pg';
import { v7 } from 'uuid';
import { CheckoutService } from '../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { Environment, OrderEventSchema } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { LeasedPaymentAttempt } from '../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WebhookEndpointService } from '../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import type { WebhookService } from '../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { publicId, storedId } from '../support/ids.ts';
import { browserSecret, outcomes } from '../integration/core/payment-desk.ts';
import { directPayment, registration } from '../support/order-requests.ts';
import type { Stack } from '../support/stack.ts';
import { insist } from '../support/wait-until.ts';
import { sql } from '../support/sql.ts';

/**
 * A merchant whose orders end, and the secret of its webhooks. Every second merchant has a webhook endpoint, and the
 * others give a webhook_url with each order.
 */
export interface Shop {
  readonly merchantId: string;
  readonly secret: string;
}

/** Shops whose customers pay, cancel or do nothing, with a pause between orders. */
export interface WebhookShops {
  readonly shops: readonly Shop[];
  /**
   * Ends orders a second time that have ended recently. Orders of today never do, but the sequence within one order
   * must hold anyway.
   */
  readonly endAgain: () => Promise<void>;
  /** Starts no more orders. Resolves when those in progress have ended. */
  readonly stop: () => Promise<void>;
}

export interface WebhookShopsOptions {
  readonly stack: Stack;
  readonly webhooks: Client<typeof WebhookService>;
  readonly webhookEndpoints: Client<typeof WebhookEndpointService>;
  /** Core's database, which may be another than the stack's own. */
  readonly database: pg.Pool;
  /** The servers of the shops, one for each. */
  readonly origins: readonly string[];
  /** The number of concurrent customers of a shop. */
  readonly customers: number;
}

type Ending = 'paid' | 'given up' | 'expired';
const endings: readonly Ending[] = ['paid', 'given up', 'expired', 'expired'];

interface Counter {
  readonly orders: Client<typeof OrderService>;
  readonly checkout: Client<typeof CheckoutService>;
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly database: pg.Pool;
}

const pauseMs = 400;

/** Opens the shops. A call that fails is repeated until it succeeds, as a shop's server would. */
export async function openWebhookShops(options: WebhookShopsOptions): Promise<WebhookShops> {
  const { stack, webhooks, webhookEndpoints, database, origins, customers } = options;
  const counter: Counter = {
    orders: stack.client(OrderService, 'writer'),
    checkout: stack.client(CheckoutService, 'checkout'),
    payments: stack.client(PaymentAttemptService, 'wallets'),
    database,
  };
  const closing = new AbortController();
  const shops: Shop[] = [];
  for (let shop = 0; shop < origins.length; shop += 1) {
    const { id: merchantId } = await stack.createMerchant();
    const owner = { merchantId, environment: Environment.SANDBOX };
    const url = `${origins[shop]}/${merchantId}`;
    const { secret } = hasEndpoint(shop)
      ? await webhookEndpoints.createWebhookEndpoint({ ...owner, url })
      : await webhooks.rotateSigningSecret(owner);
    shops.push({ merchantId, secret });
  }
  const paid = new AbortController();
  const wallet = completePayments(counter, paid.signal);
  const serving: Promise<void>[] = [];
  for (const [shop, { merchantId }] of shops.entries()) {
    const webhookUrl = hasEndpoint(shop) ? '' : `${origins[shop]}/${merchantId}`;
    for (let customer = 0; customer < customers; customer += 1)
      serving.push(serve(counter, { merchantId, webhookUrl, customer }, closing.signal));
  }
  return {
    shops,
    endAgain: () => endAgain(database),
    async stop() {
      closing.abort();
      await Promise.all(serving);
      const areDecided = async (): Promise<void> => {
        const { rows } = await database.query(sql`select from core.orders
          where status = 'PENDING' and merchant_id = any
            (${shops.map(({ merchantId }) => storedId('mer', merchantId))}::uuid[]) limit 1`);
        if (rows.length > 0) throw new Error('some have not');
      };
      await insist('every order has ended', areDecided);
      paid.abort();
      await wallet;
    },
  };
}

const hasEndpoint = (shop: number): boolean => shop % 2 === 1;

interface Customer {
  readonly merchantId: string;
  readonly webhookUrl: string;
  readonly customer: number;
}

/** One order after the other. */
async function serve(counter: Counter, own: Customer, stop: AbortSignal): Promise<void> {
  const { merchantId, webhookUrl, customer } = own;
  for (let index = 0; !stop.aborted; index += 1) {
    const orderNumber = `K-${customer}-${index}`;
    const register = () =>
      counter.orders.registerOrder(registration({ merchantId, orderNumber, webhookUrl }));
    const { order, checkoutUrl } = await insist(`${orderNumber} is registered`, register);
    const ending = endings[(customer + index) % endings.length] ?? 'expired';
    const open = { merchantId, orderNumber, id: storedId('ord', order?.orderId ?? ''), checkoutUrl };
    await insist(`${orderNumber} is ${ending}`, () => end(counter, open, ending));
    await delay(pauseMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

interface OpenOrder {
  readonly merchantId: string;
  readonly orderNumber: string;
  /** As stored. */
  readonly id: string;
  readonly checkoutUrl: string;
}

/** Starts the end of an order, unless an earlier call whose answer was lost did. */
async function end(counter: Counter, order: OpenOrder, ending: Ending): Promise<unknown> {
  const { orders, checkout, database } = counter;
  const { merchantId, orderNumber, id, checkoutUrl } = order;
  const { rows } = await database.query(sql`
    select from core.orders where id = ${id} and status = 'PENDING' and attempt_count = 0`);
  if (rows.length === 0) return;
  switch (ending) {
    case 'paid':
      return orders.startDirectPayment(directPayment({ merchantId, orderNumber }));
    case 'given up':
      return checkout.cancelCheckout({
        token: checkoutUrl.split('/').at(-1) ?? '',
        browserSecret: browserSecret(),
      });
    case 'expired':
      return database.query(sql`
        update core.orders set expires_at = now(), sweep_at = now() where id = ${id} and status = 'PENDING'`);
  }
}

/** Acts as the wallet, which accepts every payment. */
async function completePayments({ payments }: Counter, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const lease = () =>
      payments.leasePaymentAttempts({
        environment: Environment.SANDBOX,
        paymentOptions: ['walleta_ussd'],
        maxAttempts: 100,
        lease: { seconds: 5n },
      });
    const { attempts } = await insist('payments are leased', lease);
    const complete = async ({ merchantId, paymentAttempt, leaseId }: LeasedPaymentAttempt): Promise<void> => {
      const paymentAttemptId = paymentAttempt?.paymentAttemptId ?? '';
      const outcome = outcomes.completed(`t-${paymentAttemptId}`);
      await payments.recordPaymentOutcome({ merchantId, paymentAttemptId, leaseId, outcome });
    };
    // A payment without a record is leased again.
    await Promise.allSettled(attempts.map(complete));
    if (attempts.length === 0) await delay(200, undefined, { signal: stop }).catch(() => undefined);
  }
}

const endedLately = `
select o.payload from core.order_events o
where o.type in ('COMPLETED', 'FAILED', 'EXPIRED')
  and not exists (
    select from core.order_events later
    where later.merchant_id = o.merchant_id and later.order_id = o.order_id and later.sequence > o.sequence
  )
order by o.xid desc, o.position desc limit 20`;

async function endAgain(database: pg.Pool): Promise<void> {
  const { rows } = await database.query<{ payload: Buffer }>(endedLately);
  for (const { payload } of rows) {
    const first = fromBinary(OrderEventSchema, payload);
    const id = v7();
    const again = create(OrderEventSchema, {
      ...first,
      eventId: publicId('evt', id),
      sequence: first.sequence + 1n,
    });
    await database.query(sql`
      insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
      select merchant_id, environment, order_id, sequence + 1, ${id}, type, occurred_at,
        ${toBinary(OrderEventSchema, again)}
      from core.order_events where id = ${storedId('evt', first.eventId)}`);
  }
}
