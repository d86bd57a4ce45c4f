import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format } from 'oxfmt';
import type { FormatConfig } from 'oxfmt';
import type { Machine } from '../machine.ts';
import type { LoadReport } from '../parts/load.ts';
import type { MemoryReport } from '../parts/memory.ts';
import type { OverloadReport } from '../parts/overload.ts';
import type { SizeReport } from '../parts/size.ts';
import type { TailsReport } from '../parts/tails.ts';
import type { WebhooksReport } from '../parts/webhooks.ts';

/** The results of the parts of the benchmark. */
export interface PartReports {
  readonly load: LoadReport;
  readonly size: SizeReport;
  readonly tails: TailsReport;
  readonly webhooks: WebhooksReport;
  readonly overload: OverloadReport;
  readonly memory: MemoryReport;
}

export type Part = keyof PartReports;
export const allParts = [
  'load',
  'tails',
  'size',
  'webhooks',
  'overload',
  'memory',
] as const satisfies readonly Part[];

/** A report with the time, place and method of its measurement. Parts can be measured separately. */
export interface Dated<T> {
  readonly at: string;
  /** The arguments of the command line. */
  readonly options: string;
  readonly machine: Machine;
  readonly report: T;
}

/** The last report of each part. */
export type Reports = { readonly [P in Part]?: Dated<PartReports[P]> };

const fileOf = (folder: string, part: Part): string => join(folder, `${part}.json`);

/** Reads what `writeReports` wrote, at any earlier time. */
export async function readReports(folder: string): Promise<Reports> {
  const read = async (part: Part): Promise<[Part, unknown] | undefined> => {
    try {
      return [part, JSON.parse(await readFile(fileOf(folder, part), 'utf8'))];
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  };
  const found = (await Promise.all(allParts.map(read))).filter((entry) => entry !== undefined);
  return Object.fromEntries(found);
}

/** Writes one file for each measured part, and does not change the files of the others. */
export async function writeReports(folder: string, reports: Reports): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [part, report] of Object.entries(reports) as [Part, unknown][])
    await writeFile(fileOf(folder, part), await asFormatted(JSON.stringify(report), 'json'));
}

/** In the form that the check of formats requires. */
export async function asFormatted(text: string, type: 'json' | 'md'): Promise<string> {
  const config = JSON.parse(
    await readFile(join(import.meta.dirname, '../../.oxfmtrc.json'), 'utf8'),
  ) as FormatConfig;
  const { code, errors } = await format(`report.${type}`, text, config);
  if (errors.length > 0) throw new Error(`The report cannot be formatted: ${errors[0]?.message}`);
  return code;
}
