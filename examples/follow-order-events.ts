/*
 * Prints the sandbox's order events as they are committed, over gRPC, with nothing but the .proto files. It stores its
 * cursor in a file, and continues there after a stop, a crash or a lost connection.
 *
 *   npm start                                  # in another terminal
 *   npx node examples/follow-order-events.ts   # Ctrl-C ends it. The next start continues
 */
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Metadata, credentials, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { ServiceDefinition } from '@grpc/proto-loader';
import { readCursor, writeCursor } from './cursor-file.ts';
import { findRunningGatehouse } from './running-gatehouse.ts';

/** WatchOrderEventsResponse with the options below. */
interface Message {
  readonly cursor: string;
  /** Null in a keep-alive message. */
  readonly event: null | {
    readonly event_id: string;
    readonly type: string;
    readonly sequence: string;
    readonly order: { readonly order_number: string; readonly status: string };
  };
}

const project = resolve(import.meta.dirname, '..');
const definitions = loadSync('gatehouse/v1/order_service.proto', {
  // Gatehouse's contract, and Google's types that it uses.
  includeDirs: [join(project, 'proto'), join(project, 'node_modules/google-proto-files')],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
});
const watchOrderEvents = (definitions['gatehouse.v1.OrderService'] as ServiceDefinition)['WatchOrderEvents'];
if (watchOrderEvents === undefined) throw new Error('the .proto files have no WatchOrderEvents');

const file = process.argv[2] ?? 'follow-order-events.cursor';
const { grpc, tokens } = await findRunningGatehouse();
const client = new Client(grpc, credentials.createInsecure());
const metadata = new Metadata();
metadata.set('authorization', `Bearer ${tokens.reader}`);

/** Follows the events after the stored cursor, until the connection ends. */
async function follow({ path, requestSerialize, responseDeserialize }: typeof watchOrderEvents & object) {
  const request = { after_cursor: await readCursor(file), environment: 'ENVIRONMENT_SANDBOX' };
  const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata);
  // A keep-alive message comes at least every 15 seconds. Without one the connection is dead, even if no error says so.
  const silence = setTimeout(() => call.cancel(), 30_000);
  try {
    for await (const { cursor, event } of call as AsyncIterable<Message>) {
      silence.refresh();
      if (event !== null) handle(event);
      // Stored last: after a crash in between, the event is delivered again instead of being lost.
      await writeCursor(file, cursor);
    }
  } finally {
    clearTimeout(silence);
  }
}

/** Your own work belongs here. An event may arrive twice, with the same `event_id`. */
function handle({ event_id: id, type, sequence, order }: NonNullable<Message['event']>): void {
  console.log(`${order.order_number} ${sequence} ${type} ${order.status} ${id}`);
}

/** A repeat does not help, because the request or the token is wrong. */
const isFinal = ({ code }: ServiceError): boolean =>
  code === status.INVALID_ARGUMENT || code === status.UNAUTHENTICATED || code === status.PERMISSION_DENIED;

for (;;) {
  try {
    await follow(watchOrderEvents);
  } catch (error) {
    const failure = error as ServiceError;
    if (isFinal(failure)) throw failure;
    console.error(`${failure.message}; following again from the last cursor`);
  }
  await delay(1_000);
}
