import type { Costs } from './costs.ts';
import { limitOf, logBytes, simulate } from './simulate.ts';
import type { Disk, Prediction, Setup } from './simulate.ts';

const predictedCpus = [1, 2, 4, 16, 64] as const;

/** 25 to 60 ms, one to three times in ten seconds of a process (docs/performance). */
export const measuredPauses = { everySeconds: 5, ms: 40 } as const;

/** As many as make batches full at two CPUs. */
const clientsOf = (cpus: number): number => 128 * cpus;

export interface Row extends Prediction {
  readonly cpus: number;
  readonly processes: number;
}

/** The best rate of a machine with everything except the generator, over numbers of facades and cores. */
function predict(cpus: number, costs: Costs, disk: Disk): Row {
  const setup: Omit<Setup, 'facades' | 'cores'> = {
    cpus,
    clients: clientsOf(cpus),
    generatorInside: false,
    costs,
    disk,
    pauses: measuredPauses,
  };
  let best: Row | undefined;
  for (let processes = 1; processes <= Math.max(1, cpus / 2); processes += cpus > 16 ? 4 : 1) {
    const prediction = simulate({ ...setup, facades: processes, cores: processes });
    // More processes must gain something, because each costs memory and connections.
    if (best === undefined || prediction.perSecond > best.perSecond * 1.01)
      best = { ...prediction, cpus, processes };
  }
  if (best === undefined) throw new Error(`There is no machine with ${cpus} CPUs.`);
  return best;
}

/** Registrations a second at which each resource of PostgreSQL is full, if other processes have their own machines. */
export const wallsOfPostgres = (
  cpus: number,
  { postgres }: Costs,
  { megabytesPerSecond }: Disk,
): { readonly cpu: number; readonly log: number } => ({
  cpu: (cpus * 1e6) / postgres.item,
  log: (megabytesPerSecond * 1e6) / logBytes,
});

const thousands = (value: number): string => Math.round(value).toLocaleString('en-US');
const percent = (value: number): string => `${Math.round(value * 100)} %`;
const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

/** The tables of docs/scaling.md. */
export function tables(costs: Costs, disk: Disk): string {
  const head = [
    'CPUs',
    'facades + cores',
    'registrations/s',
    'p50 ms',
    'p99 ms',
    'requests per commit',
    'CPUs of PostgreSQL',
    'NATS busy',
    'disk busy',
    'busiest',
  ];
  const rows = predictedCpus.map((cpus) => {
    const row = predict(cpus, costs, disk);
    return line([
      cpus,
      `${row.processes} + ${row.processes}`,
      thousands(row.perSecond),
      row.p50_ms.toFixed(1),
      row.p99_ms.toFixed(1),
      row.requestsACommit.toFixed(0),
      row.postgresCpus.toFixed(1),
      percent(row.busy.NATS),
      percent(row.busy.disk),
      limitOf(row) ?? 'none',
    ]);
  });
  const walls = predictedCpus.map((cpus) => {
    const { cpu, log } = wallsOfPostgres(cpus, costs, disk);
    return line([cpus, thousands(cpu), thousands(log), cpu < log ? 'CPU' : 'log']);
  });
  const rule = (columns: number): string => line(Array.from({ length: columns }, () => '--:'));
  return [
    line(head),
    rule(head.length),
    ...rows,
    '',
    line(['CPUs of PostgreSQL alone', 'registrations/s of its CPUs', 'registrations/s of its log', 'limit']),
    rule(4),
    ...walls,
  ].join('\n');
}
