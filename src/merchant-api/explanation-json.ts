import type { DescEnum } from '@bufbuild/protobuf';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import {
  OrderFactHolderSchema,
  OrderFactSchema,
  OrderNextStepSchema,
} from '../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation } from '../gen/gatehouse/v1/order_explanation_pb.js';
import { optionalIsoTime } from './iso-time.ts';
import { orderStatusName } from './order-json.ts';
import type { OrderStatusName } from './order-json.ts';

/** An enum's value as a word of the merchant API: lower snake case, and empty for UNSPECIFIED. */
const wordOf = (description: DescEnum, value: number): string =>
  value === 0 ? '' : (description.value[value]?.localName.toLowerCase() ?? '');

const wordsOf = (description: DescEnum): string[] =>
  description.values.filter(({ number }) => number !== 0).map(({ number }) => wordOf(description, number));

/** Its words are examples, because a generated client may refuse an answer with a word that an `enum` lacks. */
const wordSchema = (description: DescEnum, text: string, example: string) =>
  Type.String({
    description: `${text} New words may be added.`,
    examples: [example, ...wordsOf(description).filter((each) => each !== example)],
  });

/** The explanation of an order, as its merchant sees it. */
export const orderExplanationSchema = Type.Object(
  {
    order_id: Type.String({
      description: 'Assigned by Gatehouse when the order is registered.',
      examples: ['ord_01jd2x8m5vf7e8r0c3q6t9w1ya'],
    }),
    order_number: Type.String({
      description: 'Your own reference of the order.',
      examples: ['INV-2025-0042'],
    }),
    status: Type.Unsafe<OrderStatusName>({
      type: 'string',
      enum: ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'],
      description: 'The status of the order, as in verify.',
      examples: ['PENDING'],
    }),
    waiting_for: wordSchema(OrderFactSchema, 'The one fact that the order waits for.', 'payer_confirmation'),
    held_by: wordSchema(OrderFactHolderSchema, 'Who can change that fact now.', 'payer'),
    wallet: Type.String({
      description: 'The id of the wallet that the fact concerns; empty without one.',
      examples: ['walleta'],
    }),
    reason: Type.String({
      description:
        'Why the latest payment did not pay the order, such as insufficient_funds, or cancelled for a cancelled order. Empty otherwise.',
      examples: [''],
    }),
    next: wordSchema(OrderNextStepSchema, 'What happens next.', 'wallet_queried'),
    next_at: Type.String({
      description:
        'When that happens: ISO 8601 in UTC with milliseconds. Empty when it happens at once, when a person decides the time, and when nothing happens.',
      examples: ['2025-11-20T09:30:15.000Z'],
    }),
    since: Type.String({
      description:
        'The time since which the order waits for the fact, in the same form. If the order waits for nothing, the time at which it ended. Empty when unknown.',
      examples: ['2025-11-20T09:30:02.000Z'],
    }),
    text: Type.String({
      description: 'All of this in English, for people. Do not parse it.',
      examples: [
        'The order waits for the payer to confirm the payment with Wallet A. Gatehouse queries Wallet A at 2025-11-20 09:30:15 UTC.',
      ],
    }),
  },
  { $id: 'OrderExplanation', title: 'What an order waits for' },
);

export type OrderExplanationJson = Static<typeof orderExplanationSchema>;

/** Writes an explanation as the order's merchant sees it: without the ids of money that is not the merchant's. */
export function explanationToJson(
  order: { readonly orderId: string; readonly orderNumber: string },
  explanation: OrderExplanation,
): OrderExplanationJson {
  const { waitingFor, heldBy, next, wallet, reason, englishText } = explanation;
  return {
    order_id: order.orderId,
    order_number: order.orderNumber,
    status: orderStatusName({ orderId: order.orderId, status: explanation.orderStatus }),
    waiting_for: wordOf(OrderFactSchema, waitingFor),
    held_by: wordOf(OrderFactHolderSchema, heldBy),
    wallet,
    reason,
    next: wordOf(OrderNextStepSchema, next),
    next_at: optionalIsoTime(explanation.nextTime),
    since: optionalIsoTime(explanation.sinceTime),
    text: englishText,
  };
}
