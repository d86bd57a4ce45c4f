import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { createDeliveryTraces } from '../../../src/webhooks/delivery/delivery-traces.ts';
import { buildDelivery } from '../../integration/webhooks/outgoing.ts';
import { collectSpans } from '../../support/span-collector.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const [cause, publication] = ['00f067aa0ba902b7', '53995c3f42cd8ad8'];

test.each([
  { way: 'by the broker', published: `00-${traceId}-${publication}-01`, links: [publication] },
  { way: "from core's list", published: undefined, links: [] },
])(
  'an event that comes $way continues the trace of its cause, and so does its webhook',
  async ({ published, links }) => {
    const event = create(OrderEventSchema, { eventId: 'evt_1', traceparent: `00-${traceId}-${cause}-01` });

    const spans = await collectSpans((tracing) => {
      const traces = createDeliveryTraces(tracing);
      traces.beginIntake(event, published)?.end();
      traces.beginAttempt(buildDelivery('https://shop.example/hook', { eventId: 'evt_1' }))?.end();
    }, 0);

    const { 'process ORDERS': intake, 'POST webhook': attempt } = spans;
    expect(intake).toMatchObject({
      traceId,
      parentId: cause,
      links: links.map((spanId) => ({ traceId, spanId })),
      attributes: { 'messaging.operation.name': 'process', 'messaging.operation.type': 'process' },
    });
    expect(attempt).toMatchObject({ traceId, parentId: intake?.spanId });
  },
);

test.each([
  ['https://shop.example/hook?key=1', 'shop.example', 443],
  ['http://shop.example/hook', 'shop.example', 80],
  ['http://[::1]:3000/hook', '::1', 3000],
])('the span of a webhook to %s names the server %s and its port %i', async (url, address, port) => {
  const event = create(OrderEventSchema, { eventId: 'evt_1', traceparent: `00-${traceId}-${cause}-01` });

  const { 'POST webhook': attempt } = await collectSpans((tracing) => {
    const traces = createDeliveryTraces(tracing);
    traces.beginIntake(event, undefined)?.end();
    traces.beginAttempt(buildDelivery(url, { eventId: 'evt_1' }))?.end();
  }, 0);

  expect(attempt?.attributes).toMatchObject({ 'server.address': address, 'server.port': port });
  expect(JSON.stringify(attempt?.attributes)).not.toContain('hook');
});

test.each([
  [1, undefined],
  [2, 1],
])('attempt %i to deliver a webhook has the resend count %p', async (attemptNumber, resendCount) => {
  const { 'POST webhook': attempt } = await collectSpans((tracing) => {
    createDeliveryTraces(tracing)
      .beginAttempt(buildDelivery('https://shop.example/hook', { attemptNumber }))
      ?.end();
  });

  expect(attempt?.attributes['http.request.resend_count']).toBe(resendCount);
});
