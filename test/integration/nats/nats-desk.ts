import { randomBytes } from 'node:crypto';
import { NatsError } from 'nats';
import type { NatsConnection } from 'nats';
import { createLogger } from '../../../src/platform/logger.ts';
import { openEventBus } from '../../../src/contract/event-bus.ts';
import type { EventBus } from '../../../src/contract/event-bus.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { shopOfTheSample, startNatsWithAccounts } from './nats-with-accounts.ts';
import type { NatsUser } from './nats-with-accounts.ts';

export const readersApi = 'gatehouse.api';
export const otherShop = 'mer_01m7xjbb99evv8hx2dqm5r8qgm';

export const subjects = {
  sandbox: `orders.sandbox.${shopOfTheSample}.created`,
  production: `orders.production.${shopOfTheSample}.created`,
  otherProduction: `orders.production.${otherShop}.created`,
};

interface ConsumerState {
  readonly name: string;
  readonly num_ack_pending: number;
  readonly delivered: { readonly consumer_seq: number };
}

/** A broker with the users of the sample, and the steps of tests there. Close it in the end. */
export async function openNatsDesk() {
  const nats = await startNatsWithAccounts();
  const closing: (() => Promise<unknown>)[] = [];
  /** The broker as Gatehouse's own processes use it. */
  const busOf = async (user: NatsUser): Promise<EventBus> => {
    const logger = createLogger({ process: user, instance: 'test', level: 'silent' });
    const bus = openEventBus({ url: nats.urlOf(user), name: user, logger });
    closing.push(bus.close);
    await waitUntil(`${user} reaches the broker`, bus.isConnected);
    return bus;
  };
  return {
    nats,
    busOf,
    /** Done by `closeAll`, the last first. */
    closing,
    connectAs: async (user: NatsUser): Promise<NatsConnection> => {
      const connection = await nats.connectAs(user);
      closing.push(() => connection.close());
      return connection;
    },
    /** Publishes one event of each kind, with its subject as its body. */
    publishAsCore: async (): Promise<void> => {
      const bus = await busOf('core');
      const batch = randomBytes(8).toString('hex');
      await bus.publish(
        Object.values(subjects).map((subject) => ({
          subject,
          id: `${batch} ${subject}`,
          headers: {},
          body: Buffer.from(subject),
        })),
      );
    },
    storedMessages: async (): Promise<number> => {
      const { messages } = (await nats.monitor('/jsz')) as { messages: number };
      return messages;
    },
    /** The broker's monitoring of a consumer, after the consumer exists. */
    consumerState: (name: string): Promise<ConsumerState> =>
      waitUntil(`there is a consumer ${name}`, async () => {
        const { account_details: accounts = [] } = (await nats.monitor('/jsz?consumers=true')) as {
          account_details?: { stream_detail?: { consumer_detail?: ConsumerState[] }[] }[];
        };
        return accounts
          .flatMap(({ stream_detail: streams = [] }) => streams)
          .flatMap(({ consumer_detail: consumers = [] }) => consumers)
          .find((consumer) => consumer.name === name);
      }),
    /** Closes what a test has opened. */
    closeAll: async (): Promise<void> => {
      for (const close of closing.splice(0).reverse()) await close();
    },
    close: nats.stop,
  };
}

/** The result of a request: an answer, a refusal by permissions, an error of JetStream, or no responder. */
export async function ask(
  connection: NatsConnection,
  subject: string,
  request: object = {},
): Promise<string> {
  try {
    const answer = await connection.request(subject, JSON.stringify(request), { timeout: 2_000 });
    const { error } = answer.json<{ error?: { description: string } }>();
    return error?.description ?? 'answered';
  } catch (error) {
    if (error instanceof NatsError) return error.code;
    throw error;
  }
}
