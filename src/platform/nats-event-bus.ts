import { Events, connect } from 'nats';
import type { ConnectionOptions, NatsConnection } from 'nats';
import type { Logger } from './logger.ts';
import { createEventConsumer } from './nats-event-consumer.ts';
import type { EventConsumer, EventConsumerParts } from './nats-event-consumer.ts';
import { brokerAnswerMs, createEventStream } from './nats-event-stream.ts';
import type { EventStream } from './nats-event-stream.ts';
import { pause } from './pause.ts';
import { publishStored } from './nats-publish-stored.ts';
import type { EventMessage } from './nats-publish-stored.ts';

/*
 * This file and those beside it are all that know the NATS client, so that it can be exchanged. What it carries is never
 * the truth: everything published is in PostgreSQL, and a lost message only means that somebody looks a little later.
 */

export interface EventPublisher {
  /** The stream that published messages end up in. */
  readonly stream: string;
  /** Sends all messages in order without waiting between them, and resolves when the broker has stored every one. */
  readonly publish: (messages: readonly EventMessage[]) => Promise<void>;
}

export interface EventBus<Bell extends string = string> extends EventPublisher {
  readonly isConnected: () => boolean;
  /** Tells every process that listens that there is something of this kind to look for. Lost when the broker is away. */
  readonly ring: (bell: Bell) => void;
  /** Calls back at every such ring of another process. */
  readonly onRing: (bell: Bell, listener: () => void) => void;
  /** The place in the stream that the broker remembers by this name. */
  readonly eventConsumer: (options: Pick<EventConsumerParts, 'name' | 'ackWaitMs'>) => EventConsumer;
  readonly close: () => Promise<void>;
}

export interface EventBusOptions<Bell extends string = string> {
  readonly url: string;
  /** Shown in the broker's monitoring. */
  readonly name: string;
  /** The stream that events are published to; made when the broker does not have it. */
  readonly stream: EventStream;
  /** What processes tell each other that there may be news of. */
  readonly bells: readonly Bell[];
  readonly logger: Logger;
}

/** A bell that is rung without a pause is heard this often: each time costs a message, and whoever hears it a look. */
const ringRestMs = 5;
/** How soon a connection that the client gave up is opened anew. */
const reopenMs = 2_000;
const subjectOf = (bell: string): string => `gatehouse.wake.${bell}`;

/**
 * Connects in the background and for ever: a process starts and works while the broker is away, and uses it as soon as
 * it is there. Left alone, the client gives up for ever when the broker refuses its password twice, as one does that is
 * started with an unfinished configuration: such a connection is opened anew.
 */
export function openEventBus<Bell extends string>(options: EventBusOptions<Bell>): EventBus<Bell> {
  const { url, name, stream, bells, logger } = options;
  const closing = new AbortController();
  const listeners = new Map<Bell, Set<() => void>>(bells.map((bell) => [bell, new Set()]));
  /** Bells that were rung a moment ago, with whether there has been news since. */
  const isResting = new Map<Bell, boolean>();
  let connection: NatsConnection | undefined;
  // The client keeps what is published while the broker is away, or drops it, as it happens: nothing is given to it then.
  let isReached = false;

  const connectOnce = async (): Promise<void> => {
    const connected = await connect(connectionOptions(url, name));
    if (closing.signal.aborted) return connected.close();
    connection = connected;
    isReached = true;
    logger.info({ broker: connected.getServer() }, 'connected to the broker');
    void followStatus(connected, (reached) => {
      // A connection that has been replaced says nothing about its successor.
      if (connection !== connected) return;
      isReached = reached;
      if (reached) logger.info('reached the broker again');
      else logger.warn('lost the broker; events wait in the database');
    });
    for (const [bell, waiting] of listeners) {
      connected.subscribe(subjectOf(bell), { callback: () => waiting.forEach((listener) => listener()) });
    }
    const error = await connected.closed();
    isReached = false;
    if (error !== undefined) throw error;
  };
  const stayConnected = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await connectOnce().catch((error: unknown) =>
        logger.error({ err: error }, 'cannot use the broker, which is tried again; check GATEHOUSE_NATS_URL'),
      );
      await pause(reopenMs, closing.signal);
    }
  };
  void stayConnected();

  return {
    stream: stream.name,
    isConnected: () => isReached,
    async publish(messages) {
      if (connection === undefined || !isReached) throw new Error('the broker is not reached');
      await publishAll(connection, messages, stream, ownInbox(url));
    },
    ring(bell) {
      if (isResting.has(bell)) return void isResting.set(bell, true);
      if (!isReached) return;
      connection?.publish(subjectOf(bell));
      // One message says it all for everything that happens until the next.
      isResting.set(bell, false);
      setTimeout(() => {
        const hasNews = isResting.get(bell);
        isResting.delete(bell);
        if (hasNews === true) this.ring(bell);
      }, ringRestMs).unref();
    },
    onRing: (bell, listener) => void listeners.get(bell)?.add(listener),
    eventConsumer: (consumer) =>
      createEventConsumer({
        ...consumer,
        stream,
        reached: () => (isReached ? connection : undefined),
        logger,
      }),
    async close() {
      closing.abort();
      isReached = false;
      // Not drain(): it waits for a broker that may be away. Nothing here is lost with the connection.
      await connection?.close();
    },
  };
}

function connectionOptions(url: string, name: string): ConnectionOptions {
  const { host, username, password } = new URL(url);
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return {
    servers: host,
    name,
    ...(pass === '' ? (user === '' ? {} : { token: user }) : { user, pass }),
    ...ownInbox(url),
    ...(url.startsWith('tls:') ? { tls: {} } : {}),
    // Who rings has told itself already.
    noEcho: true,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    timeout: 5_000,
    pingInterval: 10_000,
  };
}

/** Answers come to a subject named after the user: so a broker's permissions can keep users from reading each other's. */
function ownInbox(url: string): { readonly inboxPrefix?: string } {
  const { username, password } = new URL(url);
  // Without a password it is a token, which must not show in a subject.
  return password !== '' && /^[\w-]+$/.test(username) ? { inboxPrefix: `_INBOX_${username}` } : {};
}

async function followStatus(
  connection: NatsConnection,
  onReached: (reached: boolean) => void,
): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === Events.Disconnect) onReached(false);
    if (type === Events.Reconnect) onReached(true);
  }
}

async function publishAll(
  connection: NatsConnection,
  messages: readonly EventMessage[],
  stream: EventStream,
  inbox: { readonly inboxPrefix?: string },
): Promise<void> {
  const store = () => publishStored(connection, messages, { ...inbox, timeoutMs: brokerAnswerMs });
  if ((await store()) === 'stored') return;
  // A new broker, or one whose store was lost.
  await createEventStream(connection, stream);
  if ((await store()) === 'no stream')
    throw new Error('the broker has no stream for events, even after it made one');
}
