import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import {
  EnvironmentSchema,
  OrderEventTypeSchema,
  OrderStatusSchema,
  PaymentAttemptStatusSchema,
  PaymentTypeSchema,
} from '../../gen/gatehouse/v1/order_pb.js';
import type { DescEnum } from '@bufbuild/protobuf';

export interface DifferingField {
  /** Its name in the contract. */
  readonly field: string;
  readonly recorded: string;
  /** The decision of the candidate. */
  readonly candidate: string;
}

const timeText = (time: Timestamp | undefined): string =>
  time === undefined ? '' : timestampDate(time).toISOString();

const wordOf = (description: DescEnum, number: number | undefined): string => {
  const name = number === undefined ? undefined : description.value[number]?.name;
  return name === undefined || number === 0
    ? ''
    : name.slice((description.sharedPrefix ?? '').length).toLowerCase();
};

/**
 * The fields that a decision determines. Ids of events and requests are not decided. Phones and texts are left out, because an
 * erasure may have replaced them, and because a report must not have a copy of them.
 */
const decidedFields: Readonly<Record<string, (event: OrderEvent) => string>> = {
  type: ({ type }) => eventWord(type),
  previous_status: ({ previousStatus }) => wordOf(OrderStatusSchema, previousStatus),
  occur_time: ({ occurTime }) => timeText(occurTime),
  'order.environment': ({ order }) => wordOf(EnvironmentSchema, order?.environment),
  'order.order_number': ({ order }) => order?.orderNumber ?? '',
  'order.status': ({ order }) => wordOf(OrderStatusSchema, order?.status),
  'order.amount': ({ order }) => order?.amount ?? '',
  'order.deducted': ({ order }) => order?.deducted ?? '',
  'order.currency': ({ order }) => order?.currency ?? '',
  'order.payment_option': ({ order }) => order?.paymentOption ?? '',
  'order.payment_type': ({ order }) => wordOf(PaymentTypeSchema, order?.paymentType),
  'order.create_time': ({ order }) => timeText(order?.createTime),
  'order.update_time': ({ order }) => timeText(order?.updateTime),
  'order.expire_time': ({ order }) => timeText(order?.expireTime),
  'order.last_event_sequence': ({ order }) => String(order?.lastEventSequence ?? ''),
  'payment_attempt.payment_attempt_id': ({ paymentAttempt }) => paymentAttempt?.paymentAttemptId ?? '',
  'payment_attempt.status': ({ paymentAttempt }) =>
    wordOf(PaymentAttemptStatusSchema, paymentAttempt?.status),
  'payment_attempt.payment_option': ({ paymentAttempt }) => paymentAttempt?.paymentOption ?? '',
  'payment_attempt.create_time': ({ paymentAttempt }) => timeText(paymentAttempt?.createTime),
  'payment_attempt.update_time': ({ paymentAttempt }) => timeText(paymentAttempt?.updateTime),
  'payment_attempt.decline_reason': ({ paymentAttempt }) => paymentAttempt?.declineReason ?? '',
};

/** The word for a type of event; '' for one that this version does not know. */
export const eventWord = (type: OrderEvent['type']): string => wordOf(OrderEventTypeSchema, type);

export const differingFields = (recorded: OrderEvent, candidate: OrderEvent): DifferingField[] =>
  Object.entries(decidedFields).flatMap(([field, textOf]) => {
    const [before, now] = [textOf(recorded), textOf(candidate)];
    return before === now ? [] : [{ field, recorded: before, candidate: now }];
  });
