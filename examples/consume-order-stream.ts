/*
 * Prints the sandbox's order events as NATS delivers them, through a consumer of its own. It compares the cursors in their headers with
 * that of the last event that it handled. From core's list, it reads events that the broker did not deliver.
 *
 *   npm start                                   # in another terminal
 *   password=$(node -p "require('./.gatehouse/secrets.json').nats_password")
 *   export GATEHOUSE_NATS_URL=nats://gatehouse:$password@127.0.0.1:4222
 *   npx node examples/consume-order-stream.ts   # Ctrl-C ends it. The next start continues
 */
import { setTimeout as delay } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { AckPolicy, DeliverPolicy, connect } from 'nats';
import type { Consumer, JsMsg, NatsConnection } from 'nats';
// `buf generate` writes these files from the .proto files. Generate your own in the same way.
import {
  Environment,
  OrderEventSchema,
  OrderEventType,
  OrderStatus,
} from '../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../src/gen/gatehouse/v1/order_service_pb.js';
import { readCursor, writeCursor } from './cursor-file.ts';
import { findRunningGatehouse } from './running-gatehouse.ts';

const file = process.argv[2] ?? 'consume-order-stream.cursor';
const url = new URL(process.env['GATEHOUSE_NATS_URL'] ?? 'nats://127.0.0.1:4222');
/** The prefix of JetStream's API, in an account that imports the stream from another account. */
const apiPrefix = process.env['GATEHOUSE_NATS_API_PREFIX'] ?? '$JS.API';
const name = process.env['GATEHOUSE_NATS_CONSUMER'] ?? 'sandbox-reader';

const gatehouse = await findRunningGatehouse();
const orders = createClient(
  OrderService,
  createConnectTransport({
    baseUrl: gatehouse.connect,
    httpVersion: '1.1',
    defaultTimeoutMs: 10_000,
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${gatehouse.tokens.reader}`);
        return next(request);
      },
    ],
  }),
);

let cursor = await readCursor(file);
/** Cursors of events that arrived through the list before the stream delivered them. Losing one costs one query. */
const ahead = new Set<string>();

async function take(event: OrderEvent, at: string): Promise<void> {
  handle(event);
  // If you can, store the cursor in the transaction of your own work. Then each event counts exactly once.
  await writeCursor(file, at);
  cursor = at;
}

/** Your own work belongs here. */
function handle({ eventId, type, sequence, order }: OrderEvent): void {
  const [what, now] = [OrderEventType[type], OrderStatus[order?.status ?? OrderStatus.UNSPECIFIED]];
  console.log(`${order?.orderNumber ?? ''} ${sequence} ${what} ${now} ${eventId}`);
}

/** Reads what core committed after the cursor, independent of the broker. */
async function catchUp(): Promise<void> {
  if (ahead.size > 10_000) ahead.clear();
  for (let hasMore = true; hasMore;) {
    const after = { afterCursor: cursor, environment: Environment.SANDBOX, pageSize: 500 };
    const page = await orders.listOrderEvents(after);
    for (const entry of page.entries) {
      if (entry.event !== undefined) await take(entry.event, entry.cursor);
      ahead.add(entry.cursor);
    }
    hasMore = page.hasMore;
  }
}

async function receive(message: JsMsg): Promise<void> {
  const at = message.headers?.get('Gatehouse-Cursor') ?? '';
  const previous = message.headers?.get('Gatehouse-Previous-Cursor') ?? '';
  if (at !== '' && previous === cursor) await take(fromBinary(OrderEventSchema, message.data), at);
  // An event is missing, or this is a repeat. The list has the missing events and this one.
  else if (!ahead.has(at)) await catchUp();
  ahead.delete(at);
  message.ack();
}

/** Creates the consumer again if the broker lost it. Events published before that are in the list. */
async function openConsumer(connection: NatsConnection): Promise<Consumer> {
  const manager = await connection.jetstreamManager({ apiPrefix, checkAPI: false });
  await manager.consumers.add('ORDERS', {
    durable_name: name,
    filter_subject: 'orders.sandbox.>',
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.New,
  });
  return connection.jetstream({ apiPrefix }).consumers.get('ORDERS', name);
}

async function consume(connection: NatsConnection): Promise<void> {
  const consumer = await openConsumer(connection);
  await catchUp();
  for (;;) {
    let received = 0;
    for await (const message of await consumer.fetch({ max_messages: 500, expires: 5_000 })) {
      await receive(message);
      received += 1;
    }
    if (received > 0) continue;
    // Five seconds without a message: nothing happened, or the broker lost events, and perhaps the consumer.
    await catchUp();
    await consumer.info();
  }
}

let connection: NatsConnection | undefined;
for (;;) {
  try {
    connection ??= await connect({
      servers: url.host,
      user: decodeURIComponent(url.username),
      pass: decodeURIComponent(url.password),
      maxReconnectAttempts: -1,
    });
    await consume(connection);
  } catch (error) {
    if (connection?.isClosed() === true) connection = undefined;
    console.error(`${String(error)}; reading core's list until the stream is there again`);
  }
  await catchUp().catch((error: unknown) => console.error(`core cannot be read: ${String(error)}`));
  await delay(1_000);
}
