import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { judgeTargets } from '../judgement/targets.ts';
import type { Machine } from '../machine.ts';
import { allParts, asFormatted } from './reports.ts';
import type { Dated, Part, PartReports, Reports } from './reports.ts';
import { renderPart, renderTargets } from './tables.ts';

const begin = '<!-- Written by npm run bench. Do not edit from here -->';
const end = '<!-- to here -->';

const titles: Readonly<Record<Part, string>> = {
  load: 'Throughput and latency',
  tails: 'Tails at a steady rate',
  size: 'Cost against table size',
  webhooks: 'Webhooks, from commit to arrival',
  overload: 'Twice the capacity',
  memory: 'Memory over time',
};

const pictures: Readonly<Record<Part, readonly string[]>> = {
  load: ['register', 'verify', 'rpc', 'latency'],
  tails: [],
  size: ['size'],
  webhooks: [],
  overload: [],
  memory: ['memory'],
};

/** The figures of all parts as Markdown. */
export function renderResults(reports: Reports): string {
  const parts = allParts.flatMap((part) => {
    const dated = reports[part];
    return dated === undefined ? [] : [sectionOf(part, dated, reports)];
  });
  return ['### Targets', renderTargets(judgeTargets(reports)), ...parts].join('\n\n');
}

function sectionOf<P extends Part>(part: P, dated: Dated<PartReports[P]>, reports: Reports): string {
  return [
    `### ${titles[part]}`,
    `Measured ${dated.at} by \`${['npm run bench', dated.options].filter((words) => words !== '').join(' -- ')}\`. ${machineInWords(dated.machine)}`,
    ...pictures[part].map((name) => `![${titles[part]}: ${name}](${name}.svg)`),
    renderPart(part, dated, reports),
  ].join('\n\n');
}

function machineInWords(machine: Machine): string {
  const { server_version: version, ...settings } = machine.postgres;
  const told = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return (
    `${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, Linux ${machine.kernel}, ` +
    `${machine.diskSyncsPerSecond} disk syncs a second, load average before ${machine.loadAverage.toFixed(1)}; ` +
    `Node ${machine.node}; PostgreSQL ${version} (${told.join(', ')}); ${machine.generators}.`
  );
}

/**
 * Writes the figures into a folder's README.md, between the two marks. Creates the file if it is missing.
 * @throws Error for a file without both marks
 */
export async function writeReadme(folder: string, reports: Reports): Promise<void> {
  const path = join(folder, 'README.md');
  const text = await readFile(path, 'utf8').catch(() => `# Measured\n\n${begin}\n${end}\n`);
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`${path} lacks the two lines between which the figures belong:\n${begin}\n${end}`);
  const whole = `${before}${begin}\n\n${renderResults(reports)}\n\n${end}${after}`;
  await writeFile(path, await asFormatted(whole, 'md'));
}
