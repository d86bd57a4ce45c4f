/** The parts of a Grafana dashboard that a mistake can be in: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/ */
export interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly Panel[];
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
    readonly exemplar?: boolean;
  }[];
}

/** Panels of Grafana itself that show values over time, and the rows between them. */
const types = ['timeseries', 'row'];
/** Of Grafana's units, those that the panels use: https://github.com/grafana/grafana, packages/grafana-data/src/valueFormats. */
const units = ['s', 'reqps', 'short', 'percentunit', 'bytes'];
const gridWidth = 24;

/** What Grafana would refuse, or show wrongly without a word. */
export function dashboardMistakes({ templating, panels }: Dashboard): string[] {
  const sources = templating.list
    .filter(({ type }) => type === 'datasource')
    .map(({ name }) => `\${${name}}`);
  return panels.flatMap((panel, index) => [
    ...placeMistakes(panel, panels.slice(0, index)),
    ...(panel.type === 'row' ? [] : contentMistakes(panel, sources)),
  ]);
}

function placeMistakes({ id, type, title, gridPos }: Panel, before: readonly Panel[]): string[] {
  const { x, y, w, h } = gridPos;
  const mistakes: string[] = [];
  if (!types.includes(type)) mistakes.push(`${title}: there is no panel of type ${type}`);
  if (before.some((other) => other.id === id)) mistakes.push(`${title}: id ${id} is used twice`);
  if (x < 0 || y < 0 || w < 1 || h < 1 || x + w > gridWidth)
    mistakes.push(`${title}: it is outside of the grid`);
  for (const { title: other, gridPos: at } of before)
    if (x < at.x + at.w && at.x < x + w && y < at.y + at.h && at.y < y + h)
      mistakes.push(`${title}: it covers ${other}`);
  return mistakes;
}

function contentMistakes(panel: Panel, sources: readonly string[]): string[] {
  const { title, datasource, fieldConfig, targets = [] } = panel;
  const mistakes: string[] = [];
  if (datasource?.type !== 'prometheus' || !sources.includes(datasource.uid))
    mistakes.push(`${title}: its data source is no variable of the dashboard`);
  if (!units.includes(fieldConfig?.defaults.unit ?? '')) mistakes.push(`${title}: it has no known unit`);
  if (targets.length === 0) mistakes.push(`${title}: it has no query`);
  if (new Set(targets.map(({ refId }) => refId)).size < targets.length)
    mistakes.push(`${title}: two queries have one refId`);
  for (const { expr, legendFormat, exemplar } of targets) {
    if (expr.trim() === '') mistakes.push(`${title}: it has an empty query`);
    for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
      if (!keepsLabel(expr, label)) mistakes.push(`${title}: no series has the label ${label} of its legend`);
    if (expr.includes('histogram_quantile(') !== (exemplar === true))
      mistakes.push(`${title}: durations have exemplars, and nothing else`);
  }
  return mistakes;
}

/** An aggregation keeps only the labels that it names. */
const keepsLabel = (expr: string, label: string): boolean => {
  const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].map(([, labels = '']) => labels.split(/, */));
  return kept.every((labels) => labels.includes(label)) && (kept.length > 0 || !/^(?:sum|max)\(/.test(expr));
};
