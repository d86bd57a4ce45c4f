/** Writes deploy/monitoring from the alerts and rows beside it: npm run monitoring */
import { writeFile } from 'node:fs/promises';
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

if (import.meta.main) {
  for (const [path, text] of Object.entries(files)) await writeFile(new URL(path, folder), text);
}
