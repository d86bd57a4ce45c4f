import { parseArgs } from 'node:util';
import { allParts } from './report/reports.ts';
import type { Part } from './report/reports.ts';

export interface BenchOptions {
  readonly parts: ReadonlySet<Part>;
  readonly connections: readonly number[];
  readonly seconds: number;
  readonly repeats: number;
  /** Orders in the table: the first of the sizes for everything, all of them for the part about size. */
  readonly sizes: readonly number[];
  /** Contenders of the part `load` whose names contain it. */
  readonly only: string;
  readonly cores: number;
  readonly facades: number;
  readonly profileFolder: string;
  readonly overloadConnections: number;
  readonly minutes: number;
  /** Instead of those it is delivered with. */
  readonly postgresSettings: Readonly<Record<string, string>>;
  /** Where results go; empty for the screen alone. */
  readonly out: string;
  readonly install: boolean;
}

/** Memory takes its minutes, so it is measured when it is asked for. */
const usualParts = 'load,size,webhooks,overload';

/** @throws when an option is not known, or its value is of no use, with a sentence that says so */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      parts: { type: 'string' },
      only: { type: 'string', default: '' },
      connections: { type: 'string', default: '1,16,64,256' },
      seconds: { type: 'string', default: '2' },
      repeats: { type: 'string', default: '3' },
      seeded: { type: 'string', default: '10000,10000000' },
      cores: { type: 'string', default: '1' },
      facades: { type: 'string', default: '1' },
      profile: { type: 'string', default: '' },
      'overload-connections': { type: 'string', default: '4000' },
      minutes: { type: 'string', default: '10' },
      'shared-buffers': { type: 'string', default: '' },
      out: { type: 'string', default: '' },
      install: { type: 'boolean', default: false },
    },
  });
  // Who names a contender wants to see that one.
  const parts = values.parts ?? (values.only === '' ? usualParts : 'load');
  return {
    parts: new Set(parts.split(',').map(partNamed)),
    only: values.only,
    connections: numbers('connections', values.connections),
    seconds: number('seconds', values.seconds),
    repeats: number('repeats', values.repeats),
    sizes: numbers('seeded', values.seeded).toSorted((a, b) => a - b),
    cores: number('cores', values.cores),
    facades: number('facades', values.facades),
    profileFolder: values.profile,
    overloadConnections: number('overload-connections', values['overload-connections']),
    minutes: Number(values.minutes),
    postgresSettings: values['shared-buffers'] === '' ? {} : { shared_buffers: values['shared-buffers'] },
    out: values.out,
    install: values.install,
  };
}

function partNamed(name: string): Part {
  const part = allParts.find((each) => each === name);
  if (part === undefined)
    throw new Error(`--parts: there is no ${name}; there are ${allParts.join(', ')}, with commas between`);
  return part;
}

function number(option: string, text: string): number {
  if (!/^[1-9][0-9]*$/.test(text))
    throw new Error(`--${option} must be a whole number from 1 on, not ${text}`);
  return Number(text);
}

const numbers = (option: string, text: string): number[] =>
  text.split(',').map((each) => number(option, each));
