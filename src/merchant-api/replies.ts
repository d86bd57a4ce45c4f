import { Type } from '@sinclair/typebox';
import type { OrderExplanationJson } from './explanation-json.ts';
import type { OrderStatusName, PaymentOrderJson } from './order-json.ts';
import type { RefundJson } from './refund-json.ts';

const message = (text: string) => Type.String({ description: 'For people to read.', examples: [text] });

const registeredMessage = 'Order registered';
/** The message for each status of the order. `ended` and `wrong_amount` are for a payment of this call that did not pay its order. */
const directMessages = {
  PENDING: 'Payment started; the customer is asked to confirm it',
  COMPLETED: 'The order is paid',
  FAILED: 'The payment failed; a new try needs a new order_number',
  EXPIRED: 'The order expired unpaid; a new try needs a new order_number',
  ended: 'This payment ended unpaid; the order can still be paid on its checkout page',
  wrong_amount:
    'The wallet took another amount, which goes back to the customer; do not charge the customer again before that',
} as const;
const foundMessage = 'Order found';
const explainedMessage = 'Order explained';
const refundMessages = {
  PENDING: 'Refund accepted; the wallet decides it',
  COMPLETED: 'The refund is completed',
  FAILED: 'The refund failed; a new try needs a new refund_number',
} as const;
const refundFoundMessage = 'Refund found';

/** Body of a successful registration: docs/merchant-api.md, "Register a payment order". */
export const registerReplySchema = Type.Object(
  {
    code: Type.Integer({ const: 1, description: 'Always 1.' }),
    message: message(registeredMessage),
    data: Type.Object({
      checkout_url: Type.String({
        format: 'uri',
        description:
          'The URL of the checkout page. Redirect the customer to it. The same registration always returns the same URL.',
        examples: [
          'https://checkout.example/c/AAGh-y7WWHabr-sgF1_3eLwBofsvAVt3O5LGab-BYRImz0F5Qj_mJ8jWhJm5hbFee4Zr7eJIrUfKJ3wIArdqVIs',
        ],
      }),
    }),
  },
  { $id: 'RegisterReply', title: 'Registered order' },
);

/** Body of a started direct payment: docs/merchant-api.md, "Start a direct payment". */
export const directReplySchema = Type.Object(
  {
    message: message(directMessages.PENDING),
    payment_status: Type.Unsafe<OrderStatusName>({
      type: 'string',
      enum: ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'],
      description:
        'The status of the order: PENDING for a new payment, the current status for a repeated request. Verify the order to ' +
        'learn the outcome. A webhook reports it too, to the webhook_url of the order and to your webhook endpoints.',
    }),
  },
  { $id: 'DirectPaymentReply', title: 'Started payment' },
);

/** Body of a status check: docs/merchant-api.md, "Verify an order". */
export const verifyReplySchema = Type.Object(
  {
    code: Type.Integer({ const: 200, description: 'Always 200.' }),
    message: message(foundMessage),
    data: Type.Ref('PaymentOrder#'),
  },
  { $id: 'VerifyReply', title: 'Found order' },
);

/** Body of an explained order. */
export const explainReplySchema = Type.Object(
  {
    code: Type.Integer({ const: 200, description: 'Always 200.' }),
    message: message(explainedMessage),
    data: Type.Ref('OrderExplanation#'),
  },
  { $id: 'ExplainReply', title: 'Explained order' },
);

/** Body of an accepted refund. */
export const refundReplySchema = Type.Object(
  {
    code: Type.Integer({ const: 1, description: 'Always 1.' }),
    message: message(refundMessages.PENDING),
    data: Type.Ref('Refund#'),
  },
  { $id: 'RefundReply', title: 'Accepted refund' },
);

/** Body of a refund's status check. */
export const verifyRefundReplySchema = Type.Object(
  {
    code: Type.Integer({ const: 200, description: 'Always 200.' }),
    message: message(refundFoundMessage),
    data: Type.Ref('Refund#'),
  },
  { $id: 'VerifyRefundReply', title: 'Found refund' },
);

export function registerReply(checkoutUrl: string) {
  return { code: 1, message: registeredMessage, data: { checkout_url: checkoutUrl } };
}

/** The end of a direct call's payment that did not pay its order; undefined before the end. */
export type DirectPaymentEnd = 'ended' | 'wrong_amount' | undefined;

/** The reply to a direct call. If the order is paid, the message says so, even if this payment of it failed. */
export function directReply(status: OrderStatusName, end: DirectPaymentEnd) {
  return { message: directMessages[messageOf(status, end)], payment_status: status };
}

function messageOf(status: OrderStatusName, end: DirectPaymentEnd): keyof typeof directMessages {
  if (status === 'COMPLETED' || end === undefined) return status;
  if (end === 'wrong_amount') return end;
  return status === 'PENDING' ? end : status;
}

export function verifyReply(order: PaymentOrderJson) {
  return { code: 200, message: foundMessage, data: order };
}

export function explainReply(explanation: OrderExplanationJson) {
  return { code: 200, message: explainedMessage, data: explanation };
}

/** A repeated request may find that the refund is decided. */
export function refundReply(refund: RefundJson) {
  return { code: 1, message: refundMessages[refund.status], data: refund };
}

export function verifyRefundReply(refund: RefundJson) {
  return { code: 200, message: refundFoundMessage, data: refund };
}
