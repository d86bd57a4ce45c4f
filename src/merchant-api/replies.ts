import { Type } from '@sinclair/typebox';
import type { PaymentOrderJson } from './order-json.ts';

const message = (text: string) => Type.String({ description: 'For people to read.', examples: [text] });

const registeredMessage = 'Order registered';
const startedMessage = 'Payment started; the customer is asked to confirm it';
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
    message: message(startedMessage),
    payment_status: Type.Unsafe<'PENDING'>({
      type: 'string',
      const: 'PENDING',
      description:
        'Always PENDING: how the payment ends is in verify, and in the webhook of an order that has a webhook_url.',
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

export function directReply() {
  return { message: startedMessage, payment_status: 'PENDING' };
}

export function verifyReply(order: PaymentOrderJson) {
  return { code: 200, message: foundMessage, data: order };
}
