import { Type } from '@sinclair/typebox';
import type { OrderStatusName, PaymentOrderJson } from './order-json.ts';

const message = (text: string) => Type.String({ description: 'For people to read.', examples: [text] });

const registeredMessage = 'Order registered';
/** By the state of the order; `ended`: the payment of this call is over and its registered order may be paid otherwise. */
const directMessages = {
  PENDING: 'Payment started; the customer is asked to confirm it',
  COMPLETED: 'The order is paid',
  FAILED: 'The payment failed; a new try needs a new order_number',
  EXPIRED: 'The order expired unpaid; a new try needs a new order_number',
  ended: 'This payment ended unpaid; the order can still be paid on its checkout page',
} as const;
const foundMessage = 'Order found';

/** Body of a successful registration; spec, "Response envelopes". */
export const registerReplySchema = Type.Object(
  {
    code: Type.Integer({ const: 1, description: 'Always 1.' }),
    message: message(registeredMessage),
    data: Type.Object({
      checkout_url: Type.String({
        format: 'uri',
        description: 'One-time URL to send the customer to.',
        examples: ['https://checkout.example/c/0Zk3vJ7oT1xq9mYb5wLrUe8sNaHdFgCi2pKtVzXyQ4E'],
      }),
    }),
  },
  { $id: 'RegisterReply', title: 'Registered order' },
);

/** Body of a started direct payment; spec, "Response envelopes". */
export const directReplySchema = Type.Object(
  {
    message: message(directMessages.PENDING),
    payment_status: Type.Unsafe<OrderStatusName>({
      type: 'string',
      enum: ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'],
      description:
        'Where the order stands: PENDING for a new payment, the present state for a repeated request. How the payment ends ' +
        'is in verify, and in the webhook of an order that has a webhook_url.',
    }),
  },
  { $id: 'DirectPaymentReply', title: 'Started payment' },
);

/** Body of a status check; spec, "Response envelopes". */
export const verifyReplySchema = Type.Object(
  {
    code: Type.Integer({ const: 200, description: 'Always 200.' }),
    message: message(foundMessage),
    data: Type.Ref('PaymentOrder#'),
  },
  { $id: 'VerifyReply', title: 'Found order' },
);

export function registerReply(checkoutUrl: string) {
  return { code: 1, message: registeredMessage, data: { checkout_url: checkoutUrl } };
}

/** The payment of a direct call: `isOver` when it has ended while its order is still open. */
export function directReply(status: OrderStatusName, isOver: boolean) {
  const message = directMessages[status === 'PENDING' && isOver ? 'ended' : status];
  return { message, payment_status: status };
}

export function verifyReply(order: PaymentOrderJson) {
  return { code: 200, message: foundMessage, data: order };
}
