/*
 * Does once in the sandbox what an internal service with the role `writer` may do. It registers and cancels an order, starts a
 * payment of another one, refunds a part of it, and follows both by their events.
 *
 *   npm start                                  # in another terminal
 *   npx node examples/register-and-refund.ts
 */
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
// `buf generate` writes these files from the .proto files. Generate your own in the same way.
import { Environment, OrderEventType } from '../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../src/gen/gatehouse/v1/order_service_pb.js';
import { RefundService } from '../src/gen/gatehouse/v1/refund_service_pb.js';
import { findRunningGatehouse } from './running-gatehouse.ts';

const environment = Environment.SANDBOX;
const gatehouse = await findRunningGatehouse();
const { id: merchantId } = gatehouse.merchant;
const transport = createConnectTransport({
  baseUrl: gatehouse.connect,
  httpVersion: '1.1',
  interceptors: [
    (next) => (request) => {
      request.header.set('authorization', `Bearer ${gatehouse.tokens.writer}`);
      return next(request);
    },
  ],
});
const orders = createClient(OrderService, transport);
const refunds = createClient(RefundService, transport);

/** Your own numbers make each request safe to repeat. */
const orderNumber = `example-${Date.now()}`;

// The stream begins before the requests, so that no event is missed. After a restart, only a stored cursor prevents that.
const stop = new AbortController();
const following = { merchantId, environment, onlyNew: true };
const stream = orders.watchOrderEvents(following, { signal: stop.signal });
const events = stream[Symbol.asyncIterator]();
await events.next();

const { order: cancelled } = await orders.registerOrder({
  merchantId,
  environment,
  orderNumber: `${orderNumber}-C`,
  amount: '100.00',
  currency: 'ETB',
  reason: 'Shoes',
  customerPhone: '0911223344',
  returnUrl: 'https://shop.example/return',
});
await orders.cancelOrder({ merchantId, environment, orderId: cancelled?.orderId ?? '' });

await orders.startDirectPayment({
  merchantId,
  environment,
  orderNumber,
  amount: '100.00',
  currency: 'ETB',
  phone: '0911223344',
  paymentOption: 'walleta_ussd',
});
for (;;) {
  const next = await events.next();
  if (next.done === true) throw new Error('the stream ended');
  const { event } = next.value;
  if (event?.order === undefined) continue;
  const { order, refund } = event;
  const about = refund === undefined ? '' : ` ${refund.amount} ${refund.currency} ${refund.failureReason}`;
  console.log(`${order.orderNumber} ${event.sequence} ${OrderEventType[event.type]}${about}`.trimEnd());
  if (order.orderNumber !== orderNumber) continue;
  if (event.type === OrderEventType.COMPLETED) {
    const { refund } = await refunds.createRefund({
      merchantId,
      environment,
      refundNumber: `${orderNumber}-R`,
      amount: '40.00',
      reason: 'Came back',
      order: { case: 'orderNumber', value: orderNumber },
    });
    console.log(`refund ${refund?.refundId} of ${refund?.amount} ${refund?.currency} requested`);
  }
  if (event.type === OrderEventType.FAILED) throw new Error('the payer did not pay');
  if (event.type === OrderEventType.REFUND_COMPLETED || event.type === OrderEventType.REFUND_FAILED) {
    console.log(`refunded in all: ${order.refunded} ${order.currency}`);
    break;
  }
}
stop.abort();
