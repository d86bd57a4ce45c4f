import { fromBinary } from '@bufbuild/protobuf';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import type { Span } from '../../platform/tracing/span.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';

/** The tag, the length and the version of OrderEvent.traceparent. Events without these bytes belong to no recorded trace. */
const mark = Buffer.from('b700-');

/** The span in which an event of a recorded trace is published; undefined for all other events. The caller ends it. */
export function beginPublishing(
  tracing: Tracing | undefined,
  { payload }: { readonly payload: Buffer },
  stream: string,
): Span | undefined {
  if (tracing === undefined || !payload.includes(mark)) return undefined;
  const { traceparent, eventId, order } = fromBinary(OrderEventSchema, payload);
  if (traceparent === '') return undefined;
  return tracing.follow(`publish ${stream}`, traceparent, {
    kind: 'producer',
    attributes: {
      'messaging.system': 'nats',
      'messaging.destination.name': stream,
      'messaging.operation.name': 'publish',
      'messaging.operation.type': 'send',
      'messaging.message.id': eventId,
      'gatehouse.order_id': order?.orderId,
      'gatehouse.merchant_id': order?.merchantId,
    },
  });
}
