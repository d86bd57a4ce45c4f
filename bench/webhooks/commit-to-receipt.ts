import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../statistics.ts';
import { inWords, latenciesOf, load } from '../latencies.ts';
import type { Latencies } from '../latencies.ts';
import type { ReceiverProcess } from './receiver-process.ts';
import { endSteadily } from './whole-system.ts';
import type { OpenOrder, Stages, WholeSystem } from './whole-system.ts';

export interface CommitToReceiptOptions {
  /** The number of orders that are measured one at a time, and the rate and duration of the other measurement. */
  readonly samples: number;
  readonly rate: number;
  readonly seconds: number;
  readonly repeats: number;
}

const warmUpSeconds = 15;

/** One result for each measurement. */
export interface CommitToReceipt {
  readonly oneAtATime: readonly Latencies[];
  readonly atRate: readonly Latencies[];
  /** The webhooks that arrived in a second, of `rate`. */
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
  // V8 compiles a program while it runs, so the first ends take longer than all later ones. They are not measured.
  await oneAtATime(system, receiver, await system.register(100));
  await endSteadily(system, await system.register(rate * warmUpSeconds), rate);
  await webhooksOf(system, receiver);
  const idle: Latencies[] = [];
  const busy: Latencies[] = [];
  const rates: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const singles = await oneAtATime(system, receiver, await system.register(samples));
    const alone = latenciesOf(singles.map(latencyOf));
    idle.push(alone);
    console.log(`commit to arrival, one order at a time: ${inWords(alone)} (${load()})`);
    console.log(await stagesInWords(system, singles));
    const orders = await system.register(rate * seconds);
    const refused = await endSteadily(system, orders, rate);
    const webhooks = await webhooksOf(system, receiver);
    const together = latenciesOf(webhooks.map(latencyOf));
    const perSecond = arrivalsPerSecond(webhooks);
    busy.push(together);
    rates.push(perSecond);
    console.log(
      `commit to arrival at ${perSecond.toFixed(0)} orders/s: ${inWords(together)} (${refused} refused, ${load()})`,
    );
    console.log(await stagesInWords(system, webhooks));
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

/** A webhook that arrived. Times by `clockMs`. */
interface ReceivedWebhook {
  readonly eventId: string;
  readonly committed: number;
  readonly received: number;
}

/** From the first arrival to the last one. The latency of the last one would make a short measurement look slower than a long one. */
function arrivalsPerSecond(webhooks: readonly ReceivedWebhook[]): number {
  const arrivals = webhooks.map(({ received }) => received);
  return ((arrivals.length - 1) * 1000) / (Math.max(...arrivals) - Math.min(...arrivals));
}

const latencyOf = ({ committed, received }: ReceivedWebhook): number => received - committed;

async function oneAtATime(
  system: WholeSystem,
  receiver: ReceiverProcess,
  orders: readonly OpenOrder[],
): Promise<ReceivedWebhook[]> {
  const webhooks: ReceivedWebhook[] = [];
  for (const order of orders) {
    await system.end(order);
    webhooks.push(...(await webhooksOf(system, receiver)));
  }
  return webhooks;
}

/** Waits for the webhook of every order that has ended since the last call. */
async function webhooksOf(system: WholeSystem, { arrived }: ReceiverProcess): Promise<ReceivedWebhook[]> {
  const commits = [...(await system.commits())];
  while (commits.some(([id]) => !arrived.has(id))) await delay(20);
  return commits.map(([eventId, committed]) => ({
    eventId,
    committed,
    received: arrived.get(eventId) ?? Number.NaN,
  }));
}

/** The time that each stage took, for people. The medians of the stages do not add up to the median of the whole. */
async function stagesInWords(system: WholeSystem, webhooks: readonly ReceivedWebhook[]): Promise<string> {
  const stages = await system.stages(webhooks.map(({ eventId }) => eventId));
  const passed = webhooks.flatMap((webhook) => {
    const own = stages.get(webhook.eventId);
    return own === undefined ? [] : { ...webhook, ...own };
  });
  const lines: readonly [string, (webhook: ReceivedWebhook & Stages) => number][] = [
    ['commit to broker', ({ committed, stored }) => stored - committed],
    ['broker to delivery', ({ stored, created }) => created - stored],
    ['delivery to attempt', ({ created, started }) => started - created],
    ['attempt to arrival', ({ started, received }) => received - started],
  ];
  return lines.map(([name, took]) => `  ${name}: ${inWords(latenciesOf(passed.map(took)))}`).join('\n');
}
