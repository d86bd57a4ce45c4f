/**
 * Writes deploy/monitoring from the alerts and rows beside it: npm run monitoring. With `-- --check` it writes nothing, and fails when a
 * file differs.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { alerts } from './alerts.ts';
import type { Alert } from './alerts.ts';
import { dashboard } from './dashboard.ts';

const folder = new URL('../../deploy/monitoring/', import.meta.url);
const docs = 'docs/operating/alerts.md';

const note = ' Written by npm run monitoring. Change scripts/monitoring/alerts.ts instead.\n';

const ruleOf = ({ name, expr, for: time, severity, summary }: Alert) => ({
  alert: name,
  expr,
  for: time,
  labels: { severity },
  annotations: { summary, runbook: `${docs}#${name.toLowerCase()}` },
});

/** The files of deploy/monitoring that are written, by their paths in it. */
const files: Readonly<Record<string, string>> = {
  'alerts.yml': `#${note}${stringify({ groups: [{ name: 'gatehouse', rules: alerts.map(ruleOf) }] }, { lineWidth: 0 })}`,
  'grafana/gatehouse.json': `${JSON.stringify(dashboard, undefined, 2)}\n`,
};

/** The written files that a folder lacks, or has with another text. */
export async function differingFiles(of: URL): Promise<string[]> {
  const differing: string[] = [];
  for (const [path, text] of Object.entries(files))
    if ((await readFile(new URL(path, of), 'utf8').catch(() => undefined)) !== text) differing.push(path);
  return differing;
}

async function run(options: readonly string[]): Promise<void> {
  if (options.some((option) => option !== '--check'))
    throw new Error(
      `there is no option ${options.join(' ')}: use npm run monitoring, or npm run monitoring -- --check`,
    );
  if (options.length === 0) {
    for (const [path, text] of Object.entries(files)) await writeFile(new URL(path, folder), text);
    return;
  }
  const differing = await differingFiles(folder);
  if (differing.length === 0) return;
  throw new Error(
    `deploy/monitoring differs from scripts/monitoring: ${differing.join(', ')}. Run npm run monitoring.`,
  );
}

if (import.meta.main) {
  try {
    await run(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
