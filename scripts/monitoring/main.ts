/**
 * Writes deploy/monitoring from the alerts and rows beside it: npm run monitoring. With `-- --check` it writes nothing, and fails when a
 * file differs.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { alerts } from './alerts.ts';
import type { Alert } from './alerts.ts';
import { rows } from './dashboard-rows.ts';
import type { Panel } from './dashboard-rows.ts';

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

const columns = { width: 12, height: 8 };

const panelOf = ({ title, unit, queries }: Panel, id: number, x: number, y: number) => ({
  id,
  type: 'timeseries',
  title,
  datasource: { type: 'prometheus', uid: '${datasource}' },
  gridPos: { x, y, w: columns.width, h: columns.height },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: queries.map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    expr,
    legendFormat,
    // Grafana shows the traces of recorded requests as points among the durations.
    ...(expr.includes('histogram_quantile(') ? { exemplar: true } : {}),
  })),
});

function dashboard(): object {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: own } of rows) {
    panels.push({ id: panels.length + 1, type: 'row', title, gridPos: { x: 0, y, w: 24, h: 1 }, panels: [] });
    y += 1;
    own.forEach((panel, index) => {
      const x = (index % 2) * columns.width;
      panels.push(panelOf(panel, panels.length + 1, x, y + Math.floor(index / 2) * columns.height));
    });
    y += Math.ceil(own.length / 2) * columns.height;
  }
  return {
    uid: 'gatehouse',
    title: 'Gatehouse',
    tags: ['gatehouse'],
    schemaVersion: 39,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' }],
    },
    panels,
  };
}

/** The files of deploy/monitoring that are written, by their paths in it. */
export const files: Readonly<Record<string, string>> = {
  'alerts.yml': `#${note}${stringify({ groups: [{ name: 'gatehouse', rules: alerts.map(ruleOf) }] }, { lineWidth: 0 })}`,
  'grafana/gatehouse.json': `${JSON.stringify(dashboard(), undefined, 2)}\n`,
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
