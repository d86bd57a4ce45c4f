import { create, toBinary } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { beginPublishing } from '../../../src/core/events/trace-published.ts';
import type { Tracing } from '../../../src/platform/tracing/tracing.ts';

const recorded = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** The traceparents that publications of such an event follow. */
function followedBy(event: Parameters<typeof create<typeof OrderEventSchema>>[1]): string[] {
  const followed: string[] = [];
  const tracing = {
    follow: (_name: string, traceparent: string | undefined) => void followed.push(traceparent ?? ''),
  } as Partial<Tracing> as Tracing;
  const payload = Buffer.from(toBinary(OrderEventSchema, create(OrderEventSchema, event)));
  beginPublishing(tracing, { payload }, 'ORDERS');
  return followed;
}

test('the publication of an event follows the trace that the event carries', () => {
  expect(followedBy({ eventId: 'evt_1', traceparent: recorded, providerTransactionId: 't-1' })).toEqual([
    recorded,
  ]);
});

test('a merchant cannot make a publication be recorded by a text that looks like a trace', () => {
  const text = `b7${recorded}`;
  expect(followedBy({ requestId: text, order: { reason: text, orderNumber: text } })).toEqual([]);
});
