import { setTimeout as delay } from 'node:timers/promises';
import { ownPostgres } from '../../test/faults/stoppable-servers.ts';
import { openDispatchDesk } from '../../test/integration/webhooks/dispatch-desk.ts';
import type { DispatchDesk } from '../../test/integration/webhooks/dispatch-desk.ts';
import { addManyDue } from '../../test/integration/webhooks/many-due.ts';
import { inWords, latenciesOf, load } from '../latencies.ts';
import { median } from '../statistics.ts';
import type { Latencies } from '../latencies.ts';
import { clockMs } from './receiver-process.ts';
import type { ReceiverProcess } from './receiver-process.ts';

export interface DispatchingOptions {
  /** The number of deliveries that are due on the hanging endpoint. */
  readonly due: number;
  readonly samples: number;
  readonly rate: number;
  readonly deliveries: number;
  readonly merchants: number;
}

/** The measured rates and latencies of one dispatcher. */
export interface Dispatching {
  /** Deliveries a second with every attempt stored, before and beside the due ones of a hanging endpoint. */
  readonly perSecond: { readonly before: number; readonly beside: number };
  /** One result for each turn. */
  readonly idle: readonly Latencies[];
  readonly beside: readonly Latencies[];
}

/** The p99 of one turn is that of ten deliveries, and differs by a factor of two from turn to turn. */
const turns = 5;

const body = (id: string): Buffer => Buffer.from(JSON.stringify({ id, data: 'x'.repeat(600) }));

/**
 * Measures the latency and the rate at which one dispatcher sends due deliveries, also beside a million due deliveries
 * on a merchant's hanging endpoint.
 */
export async function measureDispatching(
  receiver: ReceiverProcess,
  options: DispatchingOptions,
): Promise<Dispatching> {
  const { due, samples, rate, deliveries, merchants } = options;
  const { port, arrived } = receiver;
  const deadUrl = `http://localhost:${port}/hook`;
  const toShop = (index: number) => ({
    url: `http://127.0.0.1:${port}/hook`,
    merchantId: `mer_${index % merchants}`,
    body: body(String(index)),
  });

  /** Commits deliveries one by one, at a rate, and returns the time from each commit to its arrival. */
  const measureTurn = async (desk: DispatchDesk, name: string): Promise<Latencies> => {
    const committed = new Map<string, number>();
    const begun = clockMs();
    for (let index = 0; index < samples; index += 1) {
      const [delivery] = await desk.add(toShop(index));
      committed.set(delivery?.eventId ?? '', clockMs());
      await delay(Math.max(0, begun + ((index + 1) * 1000) / rate - clockMs()));
    }
    while ([...committed.keys()].some((id) => !arrived.has(id))) await delay(50);
    const latencies = latenciesOf([...committed].map(([id, at]) => (arrived.get(id) ?? Number.NaN) - at));
    console.log(`${name}: ${inWords(latencies)} (${rate}/s, ${load()})`);
    return latencies;
  };
  const measureLatency = async (desk: DispatchDesk, name: string): Promise<Latencies[]> => {
    const all: Latencies[] = [];
    while (all.length < turns) all.push(await measureTurn(desk, name));
    return all;
  };
  // This table has no rows for the million due deliveries, so the count costs little.
  const countDelivered = async (desk: DispatchDesk): Promise<number> => {
    const { rows } = await desk.database.pool.query<{ count: number }>(
      `select count(*)::int as count from webhooks.delivery_attempts where result = 'DELIVERED'`,
    );
    return rows[0]?.count ?? 0;
  };
  const measureThroughput = async (desk: DispatchDesk): Promise<number> => {
    const before = await countDelivered(desk);
    for (let first = 0; first < deliveries; first += 1000)
      await desk.add(
        ...Array.from({ length: Math.min(1000, deliveries - first) }, (_, index) => toShop(first + index)),
      );
    const dispatcher = await desk.startDispatcher();
    const begun = clockMs();
    while ((await countDelivered(desk)) < before + deliveries) await delay(100);
    const seconds = (clockMs() - begun) / 1000;
    console.log(
      `${deliveries} deliveries over ${merchants} lanes: ${Math.round(deliveries / seconds)}/s with attempts stored (${load()})`,
    );
    await dispatcher.stop();
    return deliveries / seconds;
  };

  const postgres = await ownPostgres();
  await postgres.start();
  const desk = await openDispatchDesk(postgres.url);
  try {
    const before = await measureThroughput(desk);
    const dispatcher = await desk.startDispatcher();
    const idle = await measureLatency(desk, 'idle');
    await desk.add({ url: deadUrl, merchantId: 'mer_dead' });
    await addManyDue(desk.database.pool, 'mer_dead', deadUrl, due);
    await desk.database.pool.query('checkpoint');
    const beside = await measureLatency(desk, `beside ${due} due on a hanging endpoint`);
    const ratio = (which: 'p50' | 'p99'): string =>
      (median(beside.map((each) => each[which])) / median(idle.map((each) => each[which]))).toFixed(2);
    console.log(`ratio of the medians of ${turns} turns: p50 ${ratio('p50')}, p99 ${ratio('p99')}`);
    await dispatcher.stop();
    return { perSecond: { before, beside: await measureThroughput(desk) }, idle, beside };
  } finally {
    await desk.close();
    await postgres.remove();
  }
}
