import { setImmediate as nextTurn } from 'node:timers/promises';
import { AckPolicy, DeliverPolicy, NatsError, nanos } from 'nats';
import type { Consumer, ConsumerInfo, JetStreamManager, JsMsg, NatsConnection } from 'nats';
import type { Logger } from './logger.ts';
import { brokerAnswerMs, createEventStream } from './nats-event-stream.ts';
import type { EventStream } from './nats-event-stream.ts';
import { pause } from './pause.ts';
import { createWakeSignal } from './wake-signal.ts';

/** An event as it came out of the stream. */
export interface ReceivedEvent {
  readonly body: Uint8Array;
  /** The header of that name; empty when there is none. */
  readonly header: (name: string) => string;
}

export interface ReceivedEvents {
  /** In the order in which they came. */
  readonly events: readonly ReceivedEvent[];
  /** Tells the broker not to bring them again. It does so, some time later, when it is not told. */
  readonly acknowledge: () => void;
}

/** What comes in while one process listens. */
export interface EventInbox {
  /**
   * What has come, at most `limit` events: at once when there is something, else as soon as something comes, and empty
   * after `waitMs` or when the listening has ended. Never fails: without a broker nothing comes.
   */
  readonly take: (limit: number, waitMs: number) => Promise<ReceivedEvents>;
  /** Whether events come by themselves now. They do not while the broker is away. */
  readonly isOpen: () => boolean;
}

/**
 * A place in the stream that the broker remembers by name. What it brings may be repeated, late or missing: a reader
 * that must not miss anything compares the events' cursors, and asks core.
 */
export interface EventConsumer {
  /** Listens until `stop` aborts. One process at a time should: each event comes to one listener only. */
  readonly listen: (stop: AbortSignal) => EventInbox;
}

export interface EventConsumerParts {
  readonly name: string;
  /** Until an event that nobody acknowledged is brought again. Who shares a name must say the same. */
  readonly ackWaitMs: number;
  readonly stream: EventStream;
  /** The connection while the broker is reached. */
  readonly reached: () => NatsConnection | undefined;
  readonly logger: Logger;
}

/** One request for events is for this many; so many again may have come before somebody takes them. */
const fetchSize = 500;
const fetchMs = 5_000;
/** More than are ever brought before they are brought again: at this limit the broker would bring nothing new. */
const maxUnacknowledged = 100_000;
/** A backlog that is longer is read from core's list, in larger pages and without what was read before. */
const maxBacklog = 20_000;
const retryMs = 500;

export function createEventConsumer(parts: EventConsumerParts): EventConsumer {
  const { name, reached, logger } = parts;
  return {
    listen(stop) {
      const arrived = createWakeSignal();
      const waiting: JsMsg[] = [];
      let isOpen = false;
      const receive = (message: JsMsg): void => {
        waiting.push(message);
        arrived.ring();
      };

      const fetchUntilItFails = async (connection: NatsConnection): Promise<void> => {
        const consumer = await bind(connection, parts);
        isOpen = true;
        while (!stop.aborted && reached() === connection) {
          // What nobody takes is left with the broker.
          if (waiting.length < fetchSize) await fetchOnce(consumer, receive, stop);
          else await arrived.wait(retryMs, stop);
        }
      };
      const fetchWhenReached = async (): Promise<void> => {
        const connection = reached();
        if (connection === undefined) return;
        try {
          await fetchUntilItFails(connection);
        } catch (error) {
          if (stop.aborted || reached() === undefined) return;
          logger.warn({ err: error, consumer: name }, 'cannot read the stream of events; it is tried again');
        } finally {
          isOpen = false;
        }
      };
      const pump = async (): Promise<void> => {
        while (!stop.aborted) {
          await fetchWhenReached();
          await pause(retryMs, stop);
        }
      };
      void pump();

      return {
        isOpen: () => isOpen && reached() !== undefined,
        async take(limit, waitMs) {
          if (waiting.length === 0) await arrived.wait(waitMs, stop);
          // All that came with the first one is one batch.
          if (waiting.length > 0) await nextTurn();
          return receivedEvents(waiting.splice(0, limit));
        },
      };
    },
  };
}

function receivedEvents(messages: readonly JsMsg[]): ReceivedEvents {
  return {
    events: messages.map(({ data, headers }) => ({ body: data, header: (key) => headers?.get(key) ?? '' })),
    acknowledge: () => {
      try {
        messages.forEach((message) => message.ack());
      } catch (error) {
        // The connection was closed: they are brought again.
        if (!(error instanceof NatsError)) throw error;
      }
    },
  };
}

/** Asks for events and hands over each as it comes, until the request is fulfilled or has expired. */
async function fetchOnce(
  consumer: Consumer,
  receive: (message: JsMsg) => void,
  stop: AbortSignal,
): Promise<void> {
  const messages = await consumer.fetch({ max_messages: fetchSize, expires: fetchMs });
  const close = (): void => void messages.close();
  stop.addEventListener('abort', close, { once: true });
  if (stop.aborted) close();
  try {
    for await (const message of messages) receive(message);
  } finally {
    stop.removeEventListener('abort', close);
  }
}

/** The consumer, made when the broker does not know it, and the stream as well. */
async function bind(connection: NatsConnection, parts: EventConsumerParts): Promise<Consumer> {
  const { name, stream } = parts;
  const manager = await connection.jetstreamManager({ timeout: brokerAnswerMs });
  const { num_pending: backlog } = await addConsumer(manager, parts).catch(async (error: unknown) => {
    if (!isStreamMissing(error)) throw error;
    await createEventStream(connection, stream);
    return addConsumer(manager, parts);
  });
  if (backlog > maxBacklog) {
    await manager.consumers.delete(stream.name, name);
    await addConsumer(manager, parts);
  }
  return connection.jetstream({ timeout: brokerAnswerMs }).consumers.get(stream.name, name);
}

/** Nothing changes when the broker has it. A new one begins with what is published from now on: core lists the rest. */
const addConsumer = (
  manager: JetStreamManager,
  { name, ackWaitMs, stream }: EventConsumerParts,
): Promise<ConsumerInfo> =>
  manager.consumers.add(stream.name, {
    durable_name: name,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: maxUnacknowledged,
    deliver_policy: DeliverPolicy.New,
  });

/** JetStream's API error 10059. */
const isStreamMissing = (error: unknown): boolean =>
  error instanceof NatsError && error.jsError()?.err_code === 10059;
