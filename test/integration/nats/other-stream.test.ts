import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DiscardPolicy, connect } from 'nats';
import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import { openEventBus } from '../../../src/platform/nats/nats-event-bus.ts';
import type { EventBus } from '../../../src/platform/nats/nats-event-bus.ts';
import { sharedServers } from '../../support/servers.ts';
import { waitUntil } from '../../support/wait-until.ts';

const lines: string[] = [];
let connection: NatsConnection;
let bus: EventBus<never>;
let id: string;

beforeEach(async () => {
  id = randomUUID().slice(0, 8);
  const url = sharedServers().natsUrl;
  const { host, username, password } = new URL(url);
  connection = await connect({ servers: host, user: username, pass: password });
  bus = openEventBus({
    url,
    name: 'test',
    stream: { name: `OWN-${id}`, subjects: [`${id}.>`] },
    wakeTopics: [],
    logger: pino({}, { write: (line) => void lines.push(line) }),
  });
  await waitUntil('it is connected', bus.isConnected);
});
afterEach(async () => {
  await bus.close();
  const { streams } = await connection.jetstreamManager();
  for await (const { config } of streams.list())
    if (config.name.endsWith(id)) await streams.delete(config.name);
  await connection.close();
});

const publish = (messageId = id): Promise<void> =>
  bus.publish([{ subject: `${id}.created`, id: messageId, headers: {}, body: Buffer.from('x') }]);

test.each([
  ['maximum bytes exceeded', '--max-bytes', { max_bytes: 120 }],
  ['maximum messages exceeded', '--max-msgs', { max_msgs: 1 }],
])(
  'a stream that refuses a message because of its %s is named with what to do',
  async (refusal, option, limit) => {
    const { streams } = await connection.jetstreamManager();
    const name = `OWN-${id}`;
    await streams.add({ name, subjects: [`${id}.>`], discard: DiscardPolicy.New, ...limit });
    await publish();

    await expect(publish(`${id}-2`)).rejects.toThrow(
      `${refusal}. The stream ${name} is full: raise this limit, or remove it with nats stream edit ${name} ${option}=-1`,
    );
  },
);
const addStream = async (name: string, subject: string): Promise<void> => {
  const { streams } = await connection.jetstreamManager();
  await streams.add({ name, subjects: [subject] });
};

test('events that another stream of the broker takes do not count as published, and the error names that stream', async () => {
  await addStream(`OTHER-${id}`, `${id}.>`);

  await expect(publish()).rejects.toThrow(
    `1 of 1 messages for OWN-${id} in time: its stream OTHER-${id} takes them; delete that stream`,
  );
});

test('a stream of the same name without the subjects fails the publishing with a message that says what to do', async () => {
  await addStream(`OWN-${id}`, `${id}-other.>`);

  await expect(publish()).rejects.toThrow(
    `another stream of the broker has the name OWN-${id} or the subjects ${id}.>: delete or change that stream`,
  );
});

test('a message above the limit of the broker fails the publishing with a message that says what to do', async () => {
  const body = Buffer.alloc(connection.info?.max_payload ?? 0);

  await expect(bus.publish([{ subject: `${id}.created`, id, headers: {}, body }])).rejects.toThrow(
    `the broker accepts messages of at most ${body.length} bytes, and one has more: raise max_payload in its configuration, and restart the broker`,
  );
});

test('a consumer whose subjects another stream has logs what to do', async () => {
  await addStream(`OTHER-${id}`, `${id}.>`);
  const stopped = new AbortController();
  bus.eventConsumer({ name: 'test', ackWaitMs: 30_000 }).listen(stopped.signal);

  await waitUntil('it has logged the reason', () =>
    lines.some((line) => line.includes(`has the name OWN-${id} or the subjects ${id}.>: delete or change`)),
  );
  stopped.abort();
});
