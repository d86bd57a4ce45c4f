import { ErrorCode, Events } from 'nats';
import type { ConnectionOptions, NatsConnection, TlsOptions } from 'nats';
import pTimeout from 'p-timeout';
import { codeOf } from '../error-code.ts';
import { limitFailures } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import { connectToBroker } from './connect-to-broker.ts';
import { createEventConsumer } from './event-consumer.ts';
import type { EventConsumer, EventConsumerParts } from './event-consumer.ts';
import { brokerAnswerMs, createEventStream, streamManager } from './event-stream.ts';
import type { EventStream } from './event-stream.ts';
import { pause } from '../pause.ts';
import type { CertificateFiles } from '../tls/certificate-files.ts';
import { rememberServerCertificate } from '../tls/server-certificate.ts';
import type { ServerCertificate } from '../tls/server-certificate.ts';
import { warnOfPlaintext } from '../tls/plaintext.ts';
import { publishStored } from './publish-stored.ts';
import type { EventMessage } from './publish-stored.ts';
import { openStoredStream } from './stored-events.ts';
import type { StoredStream } from './stored-events.ts';

/*
 * Only this folder imports the NATS client, so that it can be replaced. PostgreSQL stores everything
 * that is published here. So a lost message only delays its reader until the next regular check.
 */

export interface EventPublisher {
  /** The stream of published messages. */
  readonly stream: string;
  /** Sends all messages in order without waiting between them, and resolves when the broker has stored every one. */
  readonly publish: (messages: readonly EventMessage[]) => Promise<void>;
}

export interface EventBus<WakeTopic extends string = string> extends EventPublisher {
  readonly isConnected: () => boolean;
  /**
   * Whether the broker answers a ping within this time. A broker that has stopped responding counts as connected for about half a
   * minute, until it has missed the client's own pings.
   */
  readonly isAnswering: (withinMs: number) => Promise<boolean>;
  /** Asks the broker for its store of messages. @throws with what to do when it has none, such as a nats-server without JetStream */
  readonly requireStore: () => Promise<void>;
  /**
   * Notifies all listening processes that there may be work of this topic. `part` can name a part of it. Lost while the broker is
   * unavailable.
   */
  readonly wake: (topic: WakeTopic, part?: string) => void;
  /** Calls the listener at every such notification from another process, with its part; empty for the whole topic. */
  readonly onWake: (topic: WakeTopic, listener: (part: string) => void) => void;
  /** A durable consumer of the stream. The broker stores its position under this name. */
  readonly eventConsumer: (options: Pick<EventConsumerParts, 'name' | 'ackWaitMs'>) => EventConsumer;
  /** The stored events; undefined while the broker is unavailable. */
  readonly storedStream: () => Promise<StoredStream | undefined>;
  /** The broker's certificate. */
  readonly certificate: ServerCertificate;
  readonly close: () => Promise<void>;
}

export interface EventBusOptions<WakeTopic extends string = string> {
  readonly url: string;
  /** Shown in the broker's monitoring. */
  readonly name: string;
  /** The stream for events. It is created if the broker does not have it. */
  readonly stream: EventStream;
  /** The kinds of work that processes notify each other of. */
  readonly wakeTopics: readonly WakeTopic[];
  /** For a URL that begins with tls:. Undefined to trust the usual authorities. */
  readonly tls?: CertificateFiles | undefined;
  readonly logger: Logger;
}

/** The shortest time between two notifications of a topic, because each costs a message and a check by every listener. */
const wakeIntervalMs = 5;
/** The delay before a connection that the client has abandoned is opened again. */
const reopenMs = 2_000;
const subjectOf = (topic: string): string => `gatehouse.wake.${topic}`;

/**
 * Connects in the background and retries for ever. A process starts and works without the broker, and uses it as soon as it
 * is available. The client itself stops retrying when the broker refuses its password twice, which happens when the broker
 * starts with an incomplete configuration. Such a connection is opened again.
 */
export function openEventBus<WakeTopic extends string>(
  options: EventBusOptions<WakeTopic>,
): EventBus<WakeTopic> {
  const { url, name, stream, wakeTopics, tls, logger } = options;
  if (!url.startsWith('tls:') && new URL(url).username !== '')
    warnOfPlaintext(logger, {
      what: "the broker's password",
      hosts: [new URL(url).hostname],
      remedy: 'give the broker TLS and write tls:// in GATEHOUSE_NATS_URL',
    });
  const closing = new AbortController();
  const brokerOptions = connectionOptions(url, name, tls);
  // The client passes these options on to Node, although their type does not say so.
  const brokerTls: object | null | undefined = brokerOptions.tls;
  const expiryMs = brokerTls ? rememberServerCertificate(brokerTls) : () => undefined;
  const listeners = new Map<WakeTopic, Set<(part: string) => void>>(
    wakeTopics.map((topic) => [topic, new Set()]),
  );
  /** The work that was announced just now, and whether there has been more work since. */
  const pendingWakes = new Map<string, boolean>();
  let connection: NatsConnection | undefined;
  // While the broker is unavailable, the client may buffer or drop messages. So it gets none at that time.
  let isReached = false;

  const connectOnce = async (): Promise<void> => {
    const connected = await connectToBroker(brokerOptions);
    if (closing.signal.aborted) return connected.close();
    connection = connected;
    isReached = true;
    logger.info({ broker: connected.getServer() }, 'connected to the broker');
    void followStatus(connected, (reached) => {
      // Ignore the state of a connection that has been replaced. The client reports each failed attempt to reconnect as another disconnection.
      if (connection !== connected || isReached === reached) return;
      isReached = reached;
      if (reached) logger.info('reconnected to the broker');
      else
        logger.warn(
          "disconnected from the broker; no event is lost, but events arrive late until this process is connected again; check the broker's log",
        );
    });
    for (const [topic, waiting] of listeners) {
      connected.subscribe(subjectOf(topic), {
        callback: (error, message) => {
          if (error !== null) return;
          const part = message.string();
          waiting.forEach((listener) => listener(part));
        },
      });
    }
    const error = await connected.closed();
    isReached = false;
    if (error !== undefined) throw error;
  };
  const logFailed = limitFailures((error) =>
    logger[isUnreachable(error) ? 'warn' : 'error'](
      { err: error },
      "cannot connect to the broker; this process tries again and works without it until then; check GATEHOUSE_NATS_URL and the broker's log",
    ),
  );
  const stayConnected = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await connectOnce().catch(logFailed);
      await pause(reopenMs, closing.signal);
    }
  };
  void stayConnected();

  return {
    stream: stream.name,
    isConnected: () => isReached,
    async isAnswering(withinMs) {
      if (connection === undefined || !isReached) return false;
      const answer = connection.flush().then(
        () => true,
        () => false,
      );
      return pTimeout(answer, { milliseconds: withinMs, fallback: () => false });
    },
    async requireStore() {
      if (connection === undefined || !isReached) throw new Error('not connected to the broker');
      await streamManager(connection);
    },
    async publish(messages) {
      if (connection === undefined || !isReached) throw new Error('not connected to the broker');
      await publishAll(connection, messages, stream, ownInbox(url));
    },
    wake(topic, part = '') {
      const notified = `${topic} ${part}`;
      if (pendingWakes.has(notified)) return void pendingWakes.set(notified, true);
      if (!isReached) return;
      connection?.publish(subjectOf(topic), part);
      // One message covers all work until the next message.
      pendingWakes.set(notified, false);
      setTimeout(() => {
        const hasNews = pendingWakes.get(notified);
        pendingWakes.delete(notified);
        if (hasNews === true) this.wake(topic, part);
      }, wakeIntervalMs).unref();
    },
    onWake: (topic, listener) => void listeners.get(topic)?.add(listener),
    eventConsumer: (consumer) =>
      createEventConsumer({
        ...consumer,
        stream,
        reached: () => (isReached ? connection : undefined),
        logger,
      }),
    storedStream: async () =>
      connection !== undefined && isReached ? openStoredStream(connection, stream.name) : undefined,
    certificate: {
      expiryMs,
      readAgain: async () => {
        await connectToBroker(brokerOptions).then(
          (another) => another.close(),
          () => undefined,
        );
      },
    },
    async close() {
      closing.abort();
      isReached = false;
      // Not drain(), which waits for a broker that may be unavailable. Closing the connection loses nothing.
      await connection?.close();
    },
  };
}

/** A broker that restarts or has stopped responding. Other errors, such as a refused password, last until someone corrects their cause. */
const unreachableCodes: readonly unknown[] = [
  ErrorCode.ConnectionRefused,
  ErrorCode.ConnectionTimeout,
  ErrorCode.Timeout,
];
const isUnreachable = (error: unknown): boolean => unreachableCodes.includes(codeOf(error));

function connectionOptions(url: string, name: string, tls: CertificateFiles | undefined): ConnectionOptions {
  const { host, username, password } = new URL(url);
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return {
    servers: host,
    name,
    ...(pass === '' ? (user === '' ? {} : { token: user }) : { user, pass }),
    ...ownInbox(url),
    ...(url.startsWith('tls:') ? { tls: tls === undefined ? {} : tlsOptions(tls) } : {}),
    // The sender has already notified itself.
    noEcho: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    timeout: 5_000,
    pingInterval: 10_000,
  };
}

/** The client reads these members at each connection, so that a later one uses later certificates. */
function tlsOptions(files: CertificateFiles): TlsOptions {
  const authorities = {
    get ca() {
      return files.current().ca.toString();
    },
  };
  if (files.current().own === undefined) return authorities;
  return {
    get ca() {
      return authorities.ca;
    },
    get cert() {
      return files.current().own?.certificate.toString() ?? '';
    },
    get key() {
      return files.current().own?.key.toString() ?? '';
    },
  };
}

/** The inbox subject contains the user's name, so that the broker's permissions can separate the users' answers. */
function ownInbox(url: string): { readonly inboxPrefix?: string } {
  const { username, password } = new URL(url);
  // Without a password the user part is a token, which must not appear in a subject.
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
  const store = () =>
    publishStored(connection, messages, { ...inbox, stream: stream.name, timeoutMs: brokerAnswerMs });
  if ((await store()) === 'stored') return;
  // A new broker, or one whose store was lost.
  await createEventStream(connection, stream);
  if ((await store()) === 'no stream')
    throw new Error('the broker has no stream for events, although Gatehouse has just created it');
}
