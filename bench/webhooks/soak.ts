import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../statistics.ts';
import { load } from './latencies.ts';
import type { ReceiverProcess } from './receiver-process.ts';
import { endSteadily } from './whole-system.ts';
import type { WholeSystem } from './whole-system.ts';

const stretchSeconds = 15;

/** proc(5): what is resident now, in bytes. */
function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}

/** Ends orders at a steady rate for minutes, and says how the memory of the process that sends webhooks goes. */
export async function measureMemory(
  system: WholeSystem,
  receiver: ReceiverProcess,
  { minutes, rate }: { readonly minutes: number; readonly rate: number },
): Promise<void> {
  const megabytes: number[] = [];
  await system.commits();
  const committed: string[] = [];
  const missing = (): number => committed.filter((id) => !receiver.arrived.has(id)).length;
  for (let stretch = 0; stretch < (minutes * 60) / stretchSeconds; stretch += 1) {
    const orders = await system.register(rate * stretchSeconds);
    await endSteadily(system, orders, rate);
    committed.push(...(await system.commits()).keys());
    megabytes.push(residentBytes(system.webhooksPid) / 1e6);
    console.log(
      `soak, ${(stretch + 1) * stretchSeconds} s: ${megabytes.at(-1)?.toFixed(0)} MB resident, ` +
        `${committed.length} orders ended, ${missing()} not yet told of (${load()})`,
    );
  }
  while (missing() > 0) await delay(100);
  const fifth = Math.max(1, Math.floor(megabytes.length / 5));
  const second = median(megabytes.slice(fifth, 2 * fifth));
  const last = median(megabytes.slice(-fifth));
  console.log(
    `memory of the webhooks process at ${rate} orders/s for ${minutes} min: second fifth ${second.toFixed(0)} MB, ` +
      `last fifth ${last.toFixed(0)} MB, ratio ${(last / second).toFixed(2)}, most ${Math.max(...megabytes).toFixed(0)} MB`,
  );
}
