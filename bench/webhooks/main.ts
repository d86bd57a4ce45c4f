/**
 * How soon and how fast due deliveries are sent, by one dispatcher, to a receiver in a process of its own, with a durable
 * PostgreSQL: latency from commit to receipt without and with very many deliveries due on a merchant's dead endpoint, and
 * deliveries a second with every attempt stored. See bench/webhooks/README.md.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { pauseLane, resumeLane } from '../../src/webhooks/delivery/pause-lane.ts';
import { endpointOf } from '../../src/webhooks/domain/delivery.ts';
import { ownPostgres } from '../../test/faults/stoppable-servers.ts';
import { openDispatchDesk } from '../../test/integration/webhooks/dispatch-desk.ts';
import type { DispatchDesk } from '../../test/integration/webhooks/dispatch-desk.ts';
import { addManyDue } from '../../test/integration/webhooks/many-due.ts';

const { values: options } = parseArgs({
  options: {
    due: { type: 'string', default: '1000000' },
    samples: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '4' },
    rate: { type: 'string', default: '200' },
    deliveries: { type: 'string', default: '20000' },
    merchants: { type: 'string', default: '100' },
  },
});
const samples = Number(options.samples);
const rate = Number(options.rate);
const merchants = Number(options.merchants);

type Message = { readonly port: number } | { readonly arrivals: readonly [string, number][] };

const clockMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const arrived = new Map<string, number>();
const receiver = fork(resolve(import.meta.dirname, 'receiver.ts'));
const port = await new Promise<number>((found) => {
  receiver.on('message', (message: Message) => {
    if ('port' in message) found(message.port);
    else for (const [id, at] of message.arrivals) arrived.set(id, at);
  });
});
const shopUrl = `http://127.0.0.1:${port}/hook`;
const deadUrl = `http://localhost:${port}/hook`;

const body = (id: string): Buffer => Buffer.from(JSON.stringify({ id, data: 'x'.repeat(600) }));
const toShop = (index: number) => ({
  url: shopUrl,
  merchantId: `mer_${index % merchants}`,
  body: body(String(index)),
});

/** The value that this part of all values is below. */
function part(values: readonly number[], of: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? Number.NaN;
}

/** Commits deliveries one by one, at the given rate, and tells how long after its commit each arrived. */
async function measureLatency(desk: DispatchDesk, name: string): Promise<number[]> {
  const committed = new Map<string, number>();
  const begun = clockMs();
  for (let index = 0; index < samples; index += 1) {
    const [delivery] = await desk.add(toShop(index));
    committed.set(delivery?.eventId ?? '', clockMs());
    await delay(Math.max(0, begun + ((index + 1) * 1000) / rate - clockMs()));
  }
  while ([...committed.keys()].some((id) => !arrived.has(id))) await delay(50);
  const latencies = [...committed]
    .map(([id, at]) => (arrived.get(id) ?? Number.NaN) - at)
    .sort((a, b) => a - b);
  console.log(
    `${name}: p50 ${part(latencies, 0.5).toFixed(1)} ms, p99 ${part(latencies, 0.99).toFixed(1)} ms (${rate}/s, load ${loadavg()[0]?.toFixed(1)})`,
  );
  return latencies;
}

const areStored = async (desk: DispatchDesk): Promise<boolean> => {
  const { rows } = await desk.database.pool.query(
    `select from webhooks.deliveries where state = 'PENDING' and merchant_id <> 'mer_dead' limit 1`,
  );
  return rows.length === 0;
};

async function measureThroughput(desk: DispatchDesk, count: number): Promise<void> {
  const ids: string[] = [];
  for (let first = 0; first < count; first += 1000) {
    const made = Array.from({ length: Math.min(1000, count - first) }, (_, index) => toShop(first + index));
    ids.push(...(await desk.add(...made)).map(({ eventId }) => eventId));
  }
  const dispatcher = await desk.startDispatcher();
  const begun = clockMs();
  // Looking at the database more often than needed would be part of what is measured.
  while (ids.some((id) => !arrived.has(id))) await delay(20);
  while (!(await areStored(desk))) await delay(5);
  const seconds = (clockMs() - begun) / 1000;
  console.log(
    `${count} deliveries over ${merchants} lanes: ${Math.round(count / seconds)}/s with attempts stored (load ${loadavg()[0]?.toFixed(1)})`,
  );
  await dispatcher.stop();
}

const postgres = await ownPostgres();
await postgres.start();
const desk = await openDispatchDesk(postgres.url);
try {
  await measureThroughput(desk, Number(options.deliveries));
  const dispatcher = await desk.startDispatcher();
  await measureLatency(desk, 'nothing else in the tables');
  await desk.add({ url: deadUrl, merchantId: 'mer_dead' });
  await addManyDue(desk.database.pool, 'mer_dead', deadUrl, Number(options.due));
  const client = await desk.database.pool.connect();
  await client.query('set statement_timeout = 0');
  await client.query('vacuum analyze webhooks.deliveries');
  await client.query('checkpoint');
  client.release();
  // Taking turns, so that what else the machine does falls on both.
  const dead = { merchantId: 'mer_dead', environment: 'SANDBOX', endpoint: endpointOf(deadUrl) } as const;
  const beside: number[] = [];
  const without: number[] = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    await pauseLane(desk.database.pool, dead, 'not now');
    without.push(...(await measureLatency(desk, `beside ${options.due}, paused`)));
    await resumeLane(desk.database.pool, dead);
    beside.push(...(await measureLatency(desk, `beside ${options.due}, due and not answered`)));
  }
  const ratio = (of: number): string => (part(beside, of) / part(without, of)).toFixed(2);
  console.log(`ratio of due to paused: p50 ${ratio(0.5)}, p99 ${ratio(0.99)}`);
  await dispatcher.stop();
  await measureThroughput(desk, Number(options.deliveries));
} finally {
  await desk.close();
  await postgres.remove();
  receiver.disconnect();
  await once(receiver, 'exit');
}
