import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { createLogger } from '../../../src/platform/logger.ts';
import { startTracing } from '../../../src/platform/tracing/tracing.ts';
import { createDeliveryTraces } from '../../../src/webhooks/delivery/delivery-traces.ts';
import { startSpanCollector } from '../../support/span-collector.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const [cause, publication] = ['00f067aa0ba902b7', '53995c3f42cd8ad8'];

test.each([
  { way: 'by the broker', published: `00-${traceId}-${publication}-01`, links: [publication] },
  { way: "from core's list", published: undefined, links: [] },
])(
  'an event that comes $way continues the trace of its cause, and so does its webhook',
  async ({ published, links }) => {
    const collector = await startSpanCollector();
    const tracing = await startTracing({
      settings: {
        endpoint: `${collector.url}/v1/traces`,
        headers: {},
        ratio: 0,
        resourceAttributes: {},
        serviceName: undefined,
        delayMs: 1,
      },
      process: 'webhooks',
      instance: 'test',
      version: '0',
      logger: createLogger({ process: 'test', instance: 'test', level: 'fatal' }),
      random: Math.random,
    });
    const traces = createDeliveryTraces(tracing);
    const event = create(OrderEventSchema, { eventId: 'evt_1', traceparent: `00-${traceId}-${cause}-01` });

    traces.beginIntake(event, published)?.end();
    traces
      .beginAttempt({
        merchantId: 'mer_1',
        id: 'whd_1',
        eventId: 'evt_1',
        eventType: 'order.completed',
        orderId: 'ord_1',
        url: 'https://shop.example/hook',
        attemptNumber: 1,
      } as Parameters<typeof traces.beginAttempt>[0])
      ?.end();
    await tracing?.close();
    await collector.close();

    const [intake, attempt] = ['process ORDERS', 'POST webhook'].map((name) =>
      collector.spans.find((span) => span.name === name),
    );
    expect(intake).toMatchObject({
      traceId,
      parentId: cause,
      links: links.map((spanId) => ({ traceId, spanId })),
    });
    expect(attempt).toMatchObject({ traceId, parentId: intake?.spanId });
  },
);
