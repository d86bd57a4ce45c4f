import { percentile } from '../statistics.ts';
import { facadeBatch } from './costs.ts';
import type { BatchCost, Costs } from './costs.ts';
import { simulatedMachine } from './machine.ts';

/** The simulated load: registrations of clients that send the next request when they have an answer. */
export interface Setup {
  readonly cpus: number;
  readonly facades: number;
  readonly cores: number;
  readonly clients: number;
  /** Whether the load generator uses the same CPUs, as it does in the benchmark. */
  readonly generatorInside: boolean;
  readonly costs: Costs;
  readonly disk: Disk;
  /** Collections of a whole heap, which stop a facade or core. */
  readonly pauses: { readonly everySeconds: number; readonly ms: number };
}

export interface Disk {
  readonly syncMs: number;
  /** The throughput of the disk while every write is synced, in MB/s. */
  readonly megabytesPerSecond: number;
}

/** The resources that can be busy all the time. */
const limits = ['CPUs', 'facade', 'core', 'NATS', 'disk'] as const;
export type Limit = (typeof limits)[number];

export interface Prediction {
  readonly perSecond: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Requests in one commit, on average. */
  readonly requestsACommit: number;
  /** CPUs that PostgreSQL uses. */
  readonly postgresCpus: number;
  /** The busy part of the time, of all CPUs and of the busiest thread of each kind. */
  readonly busy: Readonly<Record<Limit, number>>;
}

/** Write-ahead log of a registration, in bytes (docs/scaling.md). */
export const logBytes = 1_500;

/** As ADR 8 has them. */
const facadeInFlight = 8;
const coreInFlight = 3;
const coreBatch = 500;

const warmUpUs = 200_000;
const measuredUs = 2_000_000;

interface Request {
  readonly sentAt: number;
  readonly facade: number;
}

/** Simulates a fifth of a second without and two seconds with measurement. The same setup always gives the same result. */
export function simulate(setup: Setup): Prediction {
  const { cpus, clients, costs, disk, pauses } = setup;
  const machine = simulatedMachine(cpus);
  const latencies: number[] = [];
  let answered = 0;
  let commits = 0;
  let committed = 0;
  let postgresUs = 0;
  let diskUs = 0;
  const costOf = ({ batch, item }: BatchCost, requests: number): number => batch + item * requests;
  const measuring = (): boolean => machine.now() >= warmUpUs;

  const nats = machine.thread();
  const generators = [machine.thread(), machine.thread()];
  const facades = Array.from({ length: setup.facades }, () => ({
    thread: machine.thread(),
    waiting: [] as Request[],
    inFlight: 0,
    collecting: false,
  }));
  const cores = Array.from({ length: setup.cores }, () => ({
    thread: machine.thread(),
    waiting: [] as Request[][],
    inFlight: 0,
    collecting: false,
  }));
  let nextCore = 0;

  /** Requests of one turn of the event loop form a batch, so collecting begins behind the work that is already queued. */
  const collect = (index: number): void => {
    const facade = facades[index];
    if (facade === undefined || facade.collecting) return;
    if (facade.inFlight >= facadeInFlight || facade.waiting.length === 0) return;
    facade.collecting = true;
    facade.thread.run(0, () => {
      facade.collecting = false;
      const batch = facade.waiting.splice(0, facadeBatch);
      facade.inFlight += 1;
      facade.thread.run(costOf(costs.facade, batch.length) / 2, () => {
        const chosen = nextCore % cores.length;
        nextCore += 1;
        cores[chosen]?.waiting.push(batch);
        write(chosen);
        collect(index);
      });
    });
  };

  const write = (index: number): void => {
    const core = cores[index];
    if (core === undefined || core.collecting) return;
    if (core.inFlight >= coreInFlight || core.waiting.length === 0) return;
    core.collecting = true;
    core.thread.run(0, () => {
      core.collecting = false;
      const batches: Request[][] = [];
      let requests = 0;
      for (let next = core.waiting[0]; next !== undefined; next = core.waiting[0]) {
        if (batches.length > 0 && requests + next.length > coreBatch) break;
        batches.push(next);
        requests += next.length;
        core.waiting.shift();
      }
      core.inFlight += 1;
      core.thread.run(costOf(costs.core, requests) / 2, () => {
        const us = costOf(costs.postgres, requests);
        // Each statement has its own process of PostgreSQL.
        machine.thread().run(us, () => {
          if (measuring()) postgresUs += us;
          sync(requests, () => {
            core.inFlight -= 1;
            core.thread.run(costOf(costs.core, requests) / 2, () => {
              nats.run(costOf(costs.nats, requests), () => undefined);
              for (const batch of batches) answer(batch);
            });
            write(index);
          });
        });
        write(index);
      });
    });
  };

  /** Commits that wait while the disk is busy share the next sync. */
  let syncing = false;
  let unsynced: { readonly requests: number; readonly then: () => void }[] = [];
  const flush = (): void => {
    if (syncing || unsynced.length === 0) return;
    syncing = true;
    const group = unsynced;
    unsynced = [];
    const bytes = group.reduce((sum, { requests }) => sum + requests * logBytes, 0);
    const us = disk.syncMs * 1_000 + bytes / disk.megabytesPerSecond;
    machine.after(us, () => {
      syncing = false;
      if (measuring()) diskUs += us;
      for (const { then } of group) then();
      flush();
    });
  };
  const sync = (requests: number, then: () => void): void => {
    if (measuring()) {
      commits += 1;
      committed += requests;
    }
    unsynced.push({ requests, then });
    flush();
  };

  const answer = (batch: readonly Request[]): void => {
    const index = batch[0]?.facade ?? 0;
    const facade = facades[index];
    if (facade === undefined) return;
    facade.inFlight -= 1;
    facade.thread.run(costOf(costs.facade, batch.length) / 2, () => {
      for (const { sentAt } of batch) {
        if (!measuring()) continue;
        answered += 1;
        latencies.push((machine.now() - sentAt) / 1_000);
      }
      send(index, batch.length);
      collect(index);
    });
  };

  const send = (index: number, requests: number): void => {
    const arrive = (): void => {
      for (let sent = 0; sent < requests; sent += 1)
        facades[index]?.waiting.push({ sentAt: machine.now(), facade: index });
      collect(index);
    };
    if (!setup.generatorInside) machine.after(0, arrive);
    else generators[index % generators.length]?.run(costs.generator * requests, arrive);
  };

  /** The first pauses are spread over the interval, so that processes do not stop together. */
  const stoppable = [...facades, ...cores];
  const pause = (index: number): void => {
    stoppable[index]?.thread.run(pauses.ms * 1_000, () => undefined);
    machine.after(pauses.everySeconds * 1e6, () => {
      pause(index);
    });
  };
  stoppable.forEach((_, index) => {
    machine.after(((index + 0.5) / stoppable.length) * pauses.everySeconds * 1e6, () => {
      pause(index);
    });
  });
  for (let client = 0; client < clients; client += 1) send(client % facades.length, 1);

  machine.runUntil(warmUpUs);
  const threads = { facade: facades.map((each) => each.thread), core: cores.map((each) => each.thread) };
  const all = [...threads.facade, ...threads.core, nats];
  const before = { inAll: machine.used(), of: new Map(all.map((thread) => [thread, thread.used()])) };
  machine.runUntil(warmUpUs + measuredUs);
  const busiest = (of: readonly (typeof nats)[]): number =>
    Math.max(...of.map((thread) => (thread.used() - (before.of.get(thread) ?? 0)) / measuredUs));
  return {
    perSecond: (answered * 1e6) / measuredUs,
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
    requestsACommit: committed / commits,
    postgresCpus: postgresUs / measuredUs,
    busy: {
      CPUs: (machine.used() - before.inAll) / measuredUs / cpus,
      facade: busiest(threads.facade),
      core: busiest(threads.core),
      NATS: busiest([nats]),
      disk: diskUs / measuredUs,
    },
  };
}

/** The resource that is nearly always busy; undefined when every part waits for another. */
export function limitOf({ busy }: Prediction): Limit | undefined {
  const [limit] = limits.toSorted((a, b) => busy[b] - busy[a]);
  return limit !== undefined && busy[limit] >= 0.95 ? limit : undefined;
}
