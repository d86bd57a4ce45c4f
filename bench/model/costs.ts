import type { Measured } from '../contender.ts';
import { median } from '../statistics.ts';

/** CPU of one piece of work, in microseconds: once for a batch, and again for each of its requests. */
export interface BatchCost {
  readonly batch: number;
  readonly item: number;
}

export interface Costs {
  readonly facade: BatchCost;
  readonly core: BatchCost;
  readonly postgres: BatchCost;
  readonly nats: BatchCost;
  /** CPU of the load generator for one request, in microseconds. */
  readonly generator: number;
}

/** The numbers of connections whose costs are read: every batch has one request, or nearly every batch is full. */
export const calibratedAt = { alone: 1, full: 256 } as const;

/** The facade's batches hold at most this many requests (ADR 8). */
export const facadeBatch = 32;

/**
 * Divides the measured CPU of a request between its batch and itself. At one connection a request pays for a whole batch. At 256
 * connections, as many requests share it as the facade puts into one batch. The model of the queues gets no measured time.
 *
 * @throws {Error} when the contender was not measured at both numbers of connections
 */
export function costsFrom(measured: readonly Measured[], contender = 'rest register'): Costs {
  const cpuOf = (connections: number, process: string): number => {
    const samples = measured.find(
      (each) => each.contender === contender && each.connections === connections,
    )?.samples;
    const values = (samples ?? [])
      .map(({ cpu_us }) => cpu_us[process])
      .filter((value) => value !== undefined);
    if (values.length === 0)
      throw new Error(
        `The CPU of ${process} for "${contender}" at ${connections} connections was not measured. ` +
          `Measure it: npm run bench -- --parts load --connections 1,256 --out <folder>`,
      );
    return median(values);
  };
  const share = (process: string): BatchCost => {
    const alone = cpuOf(calibratedAt.alone, process);
    const full = cpuOf(calibratedAt.full, process);
    const batch = Math.max(0, (alone - full) / (1 - 1 / facadeBatch));
    return { batch, item: Math.max(0, alone - batch) };
  };
  return {
    facade: share('facade'),
    core: share('core'),
    postgres: share('postgres'),
    nats: share('nats'),
    generator: cpuOf(calibratedAt.full, 'generator'),
  };
}

/** CPU of one request in all processes together, in microseconds, if batches have this many requests. */
export const cpuOfRequest = (costs: Costs, requestsABatch: number): number =>
  [costs.facade, costs.core, costs.postgres, costs.nats].reduce(
    (sum, { batch, item }) => sum + batch / requestsABatch + item,
    0,
  );
