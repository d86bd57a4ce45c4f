import { NatsError } from 'nats';
import type { JetStreamManager, NatsConnection } from 'nats';
import { streamManager } from './event-stream.ts';

/** An event as the broker stores it. */
export interface StoredMessage {
  /** Its number in the stream. */
  readonly number: number;
  readonly storedAt: Date;
  readonly body: Uint8Array;
  /** The value of a header; empty if the event does not have it. */
  readonly header: (name: string) => string;
}

/** The numbers of the events that the broker stores. Numbers between them may be missing. */
export interface StoredRange {
  readonly first: number;
  readonly last: number;
}

/** The events that the broker stores, for a reader that goes through them once without a position of its own. */
export interface StoredStream {
  /** When the broker made the stream; empty when it does not exist. */
  readonly created: string;
  /** Undefined when the stream does not exist or is empty. */
  readonly range: StoredRange | undefined;
  /** The events with these numbers, in order, without those that the broker no longer has. */
  readonly read: (from: number, to: number) => Promise<StoredMessage[]>;
  /** The first event of a subject, which may have wildcards, with this number or a later one. */
  readonly next: (subject: string, from: number) => Promise<StoredMessage | undefined>;
  /** Removes an event, and overwrites it in the broker's files. Nothing happens if it does not exist. */
  readonly remove: (number: number) => Promise<void>;
}

/** JetStream's API errors for a missing stream and a missing message. */
const missing = new Set([10037, 10059]);

/** How many requests wait for the broker at once. */
const atOnce = 200;

/** @throws when the broker does not answer */
export async function openStoredStream(connection: NatsConnection, stream: string): Promise<StoredStream> {
  const manager = await streamManager(connection);
  return {
    ...(await stateOf(manager, stream)),
    async read(from, to) {
      const messages: StoredMessage[] = [];
      for (let first = from; first <= to; first += atOnce) {
        const count = Math.min(atOnce, to - first + 1);
        const read = await Promise.all(
          Array.from({ length: count }, (_, index) => readOne(manager, stream, { seq: first + index })),
        );
        messages.push(...read.flatMap((message) => (message === undefined ? [] : [message])));
      }
      return messages;
    },
    next: (subject, from) => readOne(manager, stream, { seq: from, next_by_subj: subject }),
    async remove(number) {
      try {
        await manager.streams.deleteMessage(stream, number, true);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    },
  };
}

async function stateOf(
  manager: JetStreamManager,
  stream: string,
): Promise<Pick<StoredStream, 'created' | 'range'>> {
  try {
    const { created, state } = await manager.streams.info(stream);
    const isEmpty = state.messages === 0;
    return { created, range: isEmpty ? undefined : { first: state.first_seq, last: state.last_seq } };
  } catch (error) {
    if (isMissing(error)) return { created: '', range: undefined };
    throw error;
  }
}

async function readOne(
  manager: JetStreamManager,
  stream: string,
  query: { readonly seq: number; readonly next_by_subj?: string },
): Promise<StoredMessage | undefined> {
  try {
    const { seq, time, data, header } = await manager.streams.getMessage(stream, query);
    return { number: seq, storedAt: time, body: data, header: (name) => header.get(name) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof NatsError)) return false;
  return missing.has(error.jsError()?.err_code ?? 0) || error.code === '404';
}
