import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../statistics.ts';
import { inWords, latenciesOf, load } from '../latencies.ts';
import type { Latencies } from '../latencies.ts';
import type { ReceiverProcess } from './receiver-process.ts';
import { endSteadily } from './whole-system.ts';
import type { OpenOrder, WholeSystem } from './whole-system.ts';

export interface CommitToReceiptOptions {
  /** The number of orders that are measured one at a time, and the rate and duration of the other measurement. */
  readonly samples: number;
  readonly rate: number;
  readonly seconds: number;
  readonly repeats: number;
}

/** One result for each measurement. */
export interface CommitToReceipt {
  readonly oneAtATime: readonly Latencies[];
  readonly atRate: readonly Latencies[];
  /** The ends per second that core achieved, of `rate`. */
  readonly perSecond: readonly number[];
  readonly rate: number;
}

/**
 * Measures the time from the commit of an order's end to the arrival of its webhook: one order at a time, and at a
 * rate.
 */
export async function measureCommitToReceipt(
  system: WholeSystem,
  receiver: ReceiverProcess,
  { samples, rate, seconds, repeats }: CommitToReceiptOptions,
): Promise<CommitToReceipt> {
  // The first run is slower than all later ones, so it is not measured.
  await oneAtATime(system, receiver, await system.register(100));
  await endSteadily(system, await system.register(rate), rate);
  await arrivalsOf(system, receiver);
  const idle: Latencies[] = [];
  const busy: Latencies[] = [];
  const rates: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const alone = await oneAtATime(system, receiver, await system.register(samples));
    idle.push(alone);
    console.log(`commit to receipt, one order at a time: ${inWords(alone)} (${load()})`);
    const orders = await system.register(rate * seconds);
    const ended = await endSteadily(system, orders, rate);
    const together = latenciesOf(await arrivalsOf(system, receiver));
    busy.push(together);
    rates.push(ended.perSecond);
    console.log(
      `commit to receipt at ${ended.perSecond.toFixed(0)} orders/s: ${inWords(together)} (${ended.refused} refused, ${load()})`,
    );
  }
  return { oneAtATime: idle, atRate: busy, perSecond: rates, rate };
}

/** The medians of all times, for people. */
export function commitToReceiptInWords({
  oneAtATime: idle,
  atRate,
  perSecond,
  rate,
}: CommitToReceipt): string {
  const of = (all: readonly Latencies[], which: 'p50' | 'p99'): number =>
    median(all.map((each) => each[which]));
  return (
    `medians of ${idle.length}: one at a time p50 ${of(idle, 'p50').toFixed(1)} ms, p99 ${of(idle, 'p99').toFixed(1)} ms; ` +
    `${median(perSecond).toFixed(0)}/s of ${rate}/s p50 ${of(atRate, 'p50').toFixed(1)} ms, p99 ${of(atRate, 'p99').toFixed(1)} ms; ` +
    `ratio p50 ${(of(atRate, 'p50') / of(idle, 'p50')).toFixed(2)}, p99 ${(of(atRate, 'p99') / of(idle, 'p99')).toFixed(2)}`
  );
}

async function oneAtATime(
  system: WholeSystem,
  receiver: ReceiverProcess,
  orders: readonly OpenOrder[],
): Promise<Latencies> {
  const latencies: number[] = [];
  for (const order of orders) {
    await system.end(order);
    latencies.push(...(await arrivalsOf(system, receiver)));
  }
  return latenciesOf(latencies);
}

/** Waits for the webhook of every ended order, and returns the times that they took. */
async function arrivalsOf(system: WholeSystem, { arrived }: ReceiverProcess): Promise<number[]> {
  const commits = [...(await system.commits())];
  while (commits.some(([id]) => !arrived.has(id))) await delay(20);
  return commits.map(([id, at]) => (arrived.get(id) ?? Number.NaN) - at);
}
