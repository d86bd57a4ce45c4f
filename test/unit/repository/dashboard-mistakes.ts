/** The parts of a Grafana dashboard that a mistake can be in: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/ */
export interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly Panel[];
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
    readonly exemplar?: boolean;
  }[];
}

/**
 * Mistakes that Grafana would show without an error. The library that builds the dashboard ensures the right fields,
 * types and positions of panels.
 */
export function dashboardMistakes({ templating, panels }: Dashboard): string[] {
  const sources = templating.list
    .filter(({ type }) => type === 'datasource')
    .map(({ name }) => `\${${name}}`);
  return panels.flatMap((panel, index) => [
    ...(panels.slice(0, index).some(({ id }) => id === panel.id)
      ? [`${panel.title}: id ${panel.id} is used twice`]
      : []),
    ...(panel.type === 'row' ? [] : contentMistakes(panel, sources)),
  ]);
}

function contentMistakes(panel: Panel, sources: readonly string[]): string[] {
  const { title, datasource, targets = [] } = panel;
  const mistakes: string[] = [];
  if (datasource?.type !== 'prometheus' || !sources.includes(datasource.uid))
    mistakes.push(`${title}: its data source is no variable of the dashboard`);
  if (targets.length === 0) mistakes.push(`${title}: it has no query`);
  if (new Set(targets.map(({ refId }) => refId)).size < targets.length)
    mistakes.push(`${title}: two queries have one refId`);
  for (const { expr, legendFormat, exemplar } of targets) {
    if (expr.trim() === '') mistakes.push(`${title}: it has an empty query`);
    for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
      if (!keepsLabel(expr, label)) mistakes.push(`${title}: no series has the label ${label} of its legend`);
    if (/^sum\(.*status=~.*\) \/ /.test(expr))
      mistakes.push(`${title}: it shows no data while no request has the status; add "or vector(0)"`);
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
