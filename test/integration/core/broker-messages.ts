import { connect } from 'nats';
import type { JsMsg, NatsConnection } from 'nats';

/** The messages in the stream of events, in the sequence of the broker. */
export interface StoredMessage {
  readonly subject: string;
  readonly id: string;
  readonly cursor: string;
  /** The id of the message that was published before it. */
  readonly previousCursor: string;
  /** Of a message that is no event. */
  readonly accountChange: string;
  readonly body: Buffer;
}

export async function connectTo(url: string): Promise<NatsConnection> {
  const { host, username, password } = new URL(url);
  return connect({ servers: host, user: username, pass: decodeURIComponent(password) });
}

/** All messages of the stream ORDERS; none while the stream does not exist. */
export async function readStream(url: string): Promise<StoredMessage[]> {
  const connection = await connectTo(url);
  try {
    const manager = await connection.jetstreamManager();
    const info = await manager.streams.info('ORDERS').catch(() => undefined);
    if (info === undefined || info.state.messages === 0) return [];
    const consumer = await connection.jetstream().consumers.get('ORDERS');
    const stored: StoredMessage[] = [];
    for await (const message of await consumer.fetch({ max_messages: info.state.messages, expires: 5_000 }))
      stored.push(storedMessage(message));
    return stored;
  } finally {
    await connection.close();
  }
}

const storedMessage = ({ subject, headers, data }: JsMsg): StoredMessage => ({
  subject,
  id: headers?.get('Nats-Msg-Id') ?? '',
  cursor: headers?.get('Gatehouse-Cursor') ?? '',
  previousCursor: headers?.get('Gatehouse-Previous-Cursor') ?? '',
  accountChange: headers?.get('Gatehouse-Account-Change') ?? '',
  body: Buffer.from(data),
});
