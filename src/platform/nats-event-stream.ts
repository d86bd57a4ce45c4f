import { RetentionPolicy, StorageType, nanos } from 'nats';
import type { NatsConnection } from 'nats';

/** The broker's store of published messages. */
export interface EventStream {
  readonly name: string;
  readonly subjects: readonly string[];
}

/** How long the broker may take to answer a request. */
export const brokerAnswerMs = 5_000;
const duplicateWindowMs = 10 * 60_000;
const maxAgeMs = 7 * 24 * 60 * 60_000;

/** Creates the stream if the broker does not have it. It may be called repeatedly, and by several processes at once. */
export async function createEventStream(
  connection: NatsConnection,
  { name, subjects }: EventStream,
): Promise<void> {
  const manager = await connection.jetstreamManager({ timeout: brokerAnswerMs });
  await manager.streams.add({
    name,
    subjects: [...subjects],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    max_age: nanos(maxAgeMs),
    duplicate_window: nanos(duplicateWindowMs),
  });
}
