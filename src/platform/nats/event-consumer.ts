import { setImmediate as nextTurn } from 'node:timers/promises';
import { AckPolicy, DeliverPolicy, NatsError, nanos } from 'nats';
import type { Consumer, ConsumerInfo, JetStreamManager, JsMsg, NatsConnection } from 'nats';
import { limitFailures } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import { brokerAnswerMs, createEventStream, streamManager } from './event-stream.ts';
import type { EventStream } from './event-stream.ts';
import { pause } from '../pause.ts';
import { createWakeSignal } from '../wake-signal.ts';

/** An event from the stream. */
export interface ReceivedEvent {
  readonly subject: string;
  readonly body: Uint8Array;
  /** The value of a header; empty if the event does not have it. */
  readonly header: (name: string) => string;
}

export interface ReceivedEvents {
  /** In order of arrival. */
  readonly events: readonly ReceivedEvent[];
  /** Acknowledges the events. The broker redelivers events without an acknowledgement after `ackWaitMs`. */
  readonly acknowledge: () => void;
}

/** The events that arrive while this process listens. */
export interface EventInbox {
  /**
   * Takes at most `limit` events. Waits for the first one, and gives an empty list after `waitMs` or after the end of
   * listening. Never fails: while the broker is unavailable, no events arrive.
   */
  readonly take: (limit: number, waitMs: number) => Promise<ReceivedEvents>;
  /** Whether the broker delivers events now. */
  readonly isOpen: () => boolean;
}

/**
 * A position in the stream that the broker stores by name. Events may be repeated, late or missing. A reader that must not
 * miss an event compares the events' cursors, and reads core's list after a gap.
 */
export interface EventConsumer {
  /** Listens until `stop` aborts. Only one process should listen, because each event goes to one listener only. */
  readonly listen: (stop: AbortSignal) => EventInbox;
}

export interface EventConsumerParts {
  readonly name: string;
  /** The time after which the broker redelivers an event without an acknowledgement. All users of a name must use the same value. */
  readonly ackWaitMs: number;
  readonly stream: EventStream;
  /** The connection; undefined while the broker is unavailable. */
  readonly reached: () => NatsConnection | undefined;
  readonly logger: Logger;
}

/** The number of events per request. As many again may be waiting before the reader takes them. */
const fetchSize = 500;
const fetchMs = 5_000;
/** Above the number of events that can wait for an acknowledgement. At this limit the broker would deliver no new event. */
const maxUnacknowledged = 100_000;
/** A longer backlog is read from core's list, which has larger pages and starts after the events that were read before. */
const maxBacklog = 20_000;
const retryMs = 500;

export function createEventConsumer(parts: EventConsumerParts): EventConsumer {
  const { name, reached, logger } = parts;
  const logFailed = limitFailures((error) =>
    logger.warn({ err: error, consumer: name }, 'cannot read the stream of events; trying again'),
  );
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
        const consumer = await openConsumer(connection, parts);
        isOpen = true;
        while (!stop.aborted && reached() === connection) {
          // Events that the reader does not take stay with the broker.
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
          logFailed(error);
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
          // Events that arrive together with the first one form one batch.
          if (waiting.length > 0) await nextTurn();
          return receivedEvents(waiting.splice(0, limit));
        },
      };
    },
  };
}

function receivedEvents(messages: readonly JsMsg[]): ReceivedEvents {
  return {
    events: messages.map((message) => ({
      subject: message.subject,
      body: message.data,
      header: (key) => message.headers?.get(key) ?? '',
    })),
    acknowledge: () => {
      try {
        messages.forEach((message) => message.ack());
      } catch (error) {
        // The connection was closed. The broker redelivers these events.
        if (!(error instanceof NatsError)) throw error;
      }
    },
  };
}

/** Requests events and passes each one on as it arrives, until the request is fulfilled or has expired. */
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

/** The consumer. Creates it, and the stream, if the broker does not have them. */
async function openConsumer(connection: NatsConnection, parts: EventConsumerParts): Promise<Consumer> {
  const { name, stream } = parts;
  const manager = await streamManager(connection);
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

/** Creates the consumer, or changes nothing if it exists. A new one begins with the next event: core lists earlier ones. */
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
