import { benchmark, namesOf, positiveNumber, wholeNumber, wholeNumbers } from './command-line.ts';
import { allParts } from './report/reports.ts';
import type { Part } from './report/reports.ts';

interface Values {
  readonly parts?: readonly Part[];
  /** Contenders of the part `load` whose names contain this text. */
  readonly only: string;
  readonly connections: readonly number[];
  readonly seconds: number;
  readonly repeats: number;
  readonly seeded: readonly number[];
  readonly cores: number;
  readonly facades: number;
  readonly profile: string;
  readonly overloadConnections: number;
  readonly minutes: number;
  readonly sharedBuffers?: string;
  /** The folder for results; empty to print them only. */
  readonly out: string;
  readonly install: boolean;
}

export interface BenchOptions extends Omit<Values, 'parts' | 'seeded' | 'profile' | 'sharedBuffers'> {
  readonly parts: ReadonlySet<Part>;
  /** The numbers of orders in the table. The part about size uses all of them, and the others use the first. */
  readonly sizes: readonly number[];
  readonly profileFolder: string;
  /** Settings that replace the delivered ones. */
  readonly postgresSettings: Readonly<Record<string, string>>;
}

/** The memory part takes minutes, so it runs only on request. */
const usualParts: readonly Part[] = ['load', 'tails', 'size', 'webhooks', 'overload'];

/** Ends the process with the help or an error, if the arguments require it. */
export function readOptions(args: readonly string[]): BenchOptions {
  const command = benchmark(
    'bench',
    'Loads Gatehouse and the programs that it is compared with, in turns, and prints the results.',
  )
    .option('--parts <names>', `parts to run, of ${allParts.join(', ')}`, namesOf(allParts))
    .option('--only <text>', 'contenders of the part load whose names contain the text', '')
    .option('--connections <numbers>', 'numbers of connections', wholeNumbers, [1, 64, 256])
    .option('--seconds <number>', 'duration of one run', wholeNumber, 2)
    .option('--repeats <number>', 'runs of each contender', wholeNumber, 3)
    .option('--seeded <numbers>', 'numbers of seeded orders', wholeNumbers, [10_000, 10_000_000])
    .option('--cores <number>', 'processes of core', wholeNumber, 1)
    .option('--facades <number>', 'processes of the REST facade', wholeNumber, 1)
    .option('--profile <folder>', 'folder for CPU profiles of facade and core', '')
    .option('--overload-connections <number>', 'clients of the part overload', wholeNumber, 4_000)
    .option('--minutes <number>', 'duration of the part memory', positiveNumber, 10)
    .option('--shared-buffers <size>', 'shared_buffers of PostgreSQL, for example 6GB')
    .option('--out <folder>', 'folder for results', '')
    .option('--install', 'install missing programs, as root', false);
  const { parts, seeded, profile, sharedBuffers, ...values } = command
    .parse(args, { from: 'user' })
    .opts<Values>();
  return {
    ...values,
    // The name of a contender selects its part.
    parts: new Set(parts ?? (values.only === '' ? usualParts : ['load'])),
    sizes: seeded.toSorted((a, b) => a - b),
    profileFolder: profile,
    postgresSettings: sharedBuffers === undefined ? {} : { shared_buffers: sharedBuffers },
  };
}
