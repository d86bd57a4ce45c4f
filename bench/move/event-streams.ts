import { pino } from 'pino';
import { openEventBus } from '../../src/contract/event-bus.ts';
import type { Stack } from '../../test/support/stack.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { Shards } from './shards.ts';

/** The ids of all published events: first those of the source, then those of the target, each in the order of its stream. */
export const publishedIn = async ({ source, target }: Shards): Promise<readonly string[]> => [
  ...(await publishedBy(source)),
  ...(await publishedBy(target)),
];

async function publishedBy({ ground }: Stack): Promise<string[]> {
  const bus = openEventBus({ url: ground.natsUrl, name: 'benchmark', logger: pino({ level: 'warn' }) });
  try {
    const stream = await waitUntil('the broker is connected', bus.storedStream);
    const { first = 1, last = 0 } = stream.range ?? {};
    return (await stream.read(first, last)).map(({ header }) => header('Nats-Msg-Id'));
  } finally {
    await bus.close();
  }
}
