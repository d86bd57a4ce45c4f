import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { GatehouseProcess } from '../../test/support/gatehouse-process.ts';
import { load } from '../latencies.ts';
import type { ReceiverProcess } from './receiver-process.ts';
import { endSteadily } from './whole-system.ts';
import type { WholeSystem } from './whole-system.ts';

const stretchSeconds = 15;

interface Memory {
  /** Megabytes. */
  readonly resident: number;
  /** Megabytes in use of V8's heap, including garbage that is not collected yet. */
  readonly heap: number;
}

async function memoryOf({ pid, ready }: GatehouseProcess): Promise<Memory> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const metrics = await (await fetch(`http://${String(ready['connect'])}/metrics`)).text();
  return {
    resident: (Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024) / 1e6,
    heap: Number(/^nodejs_heap_size_used_bytes ([0-9.e+]+)$/m.exec(metrics)?.[1] ?? Number.NaN) / 1e6,
  };
}

/** Ends orders at a steady rate for minutes, and reports the memory of the process that sends webhooks. */
export async function measureMemory(
  system: WholeSystem,
  receiver: ReceiverProcess,
  { minutes, rate }: { readonly minutes: number; readonly rate: number },
): Promise<void> {
  const samples: Memory[] = [];
  await system.commits();
  const committed: string[] = [];
  const missing = (): number => committed.filter((id) => !receiver.arrived.has(id)).length;
  for (let stretch = 0; stretch < (minutes * 60) / stretchSeconds; stretch += 1) {
    const orders = await system.register(rate * stretchSeconds);
    await endSteadily(system, orders, rate);
    committed.push(...(await system.commits()).keys());
    const memory = await memoryOf(system.webhooks);
    samples.push(memory);
    console.log(
      `soak, ${(stretch + 1) * stretchSeconds} s: ${memory.resident.toFixed(0)} MB resident, ` +
        `${memory.heap.toFixed(0)} MB of heap, ${committed.length} orders ended, ${missing()} without a webhook yet (${load()})`,
    );
  }
  while (missing() > 0) await delay(100);
  const half = Math.ceil(samples.length / 2);
  // The memory after a collection is what a process really keeps.
  const least = (some: readonly Memory[]): string => Math.min(...some.map(({ heap }) => heap)).toFixed(0);
  console.log(
    `memory of the webhooks process at ${rate} orders/s for ${minutes} min: least heap ${least(samples.slice(0, half))} MB ` +
      `in the first half and ${least(samples.slice(half))} MB in the second; resident ` +
      `${samples[half - 1]?.resident.toFixed(0)} MB half way, ${samples.at(-1)?.resident.toFixed(0)} MB in the end`,
  );
}
