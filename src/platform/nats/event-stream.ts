import { ErrorCode, NatsError, RetentionPolicy, StorageType, nanos } from 'nats';
import type { JetStreamManager, NatsConnection } from 'nats';

/** The broker's store of published messages. */
export interface EventStream {
  readonly name: string;
  readonly subjects: readonly string[];
}

/** How long the broker may take to answer a request. */
export const brokerAnswerMs = 5_000;
const noJetStream: string = ErrorCode.JetStreamNotEnabled;
const duplicateWindowMs = 10 * 60_000;
const maxAgeMs = 7 * 24 * 60 * 60_000;

/** The broker's interface for streams. @throws when the broker does not answer, or has no JetStream */
export async function streamManager(connection: NatsConnection): Promise<JetStreamManager> {
  try {
    return await connection.jetstreamManager({ timeout: brokerAnswerMs });
  } catch (error) {
    if (!(error instanceof NatsError) || error.code !== noJetStream) throw error;
    // The client's own message is the code.
    throw new Error(
      'nats-server answers, but has no JetStream: turn JetStream on in its configuration, check its disk, and restart it',
      { cause: error },
    );
  }
}

/** JetStream's API errors for a name and for subjects that another stream has. */
const taken = new Set([10058, 10065]);

/**
 * Creates the stream if the broker does not have it. It may be called repeatedly, and by several processes at once.
 * @throws when another stream has its name or its subjects
 */
export async function createEventStream(
  connection: NatsConnection,
  { name, subjects }: EventStream,
): Promise<void> {
  const manager = await streamManager(connection);
  const adding = manager.streams.add({
    name,
    subjects: [...subjects],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    max_age: nanos(maxAgeMs),
    duplicate_window: nanos(duplicateWindowMs),
  });
  await adding.catch((error: unknown) => {
    if (!(error instanceof NatsError) || !taken.has(error.jsError()?.err_code ?? 0)) throw error;
    throw new Error(
      `another stream of the broker has the name ${name} or the subjects ${subjects.join(', ')}: delete or change that stream`,
      { cause: error },
    );
  });
}
