import {
  DashboardBuilder,
  DatasourceVariableBuilder,
  RowBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { rows } from './dashboard-rows.ts';
import type { Panel } from './dashboard-rows.ts';

/** A panel takes half of the dashboard's width, which Grafana divides into 24 columns. */
const panelSize = { width: 12, height: 8 };

/** The variable with which a person chooses a Prometheus. */
const dataSource = new DatasourceVariableBuilder('datasource').type('prometheus').label('Data source');

function panelOf({ title, unit, queries }: Panel, id: number): PanelBuilder {
  const panel = new PanelBuilder()
    .id(id)
    .title(title)
    .datasource({ type: 'prometheus', uid: '${datasource}' })
    .span(panelSize.width)
    .height(panelSize.height)
    .unit(unit)
    .min(0);
  queries.forEach(([expr, legend], index) => {
    const query = new DataqueryBuilder()
      .refId(String.fromCharCode('A'.charCodeAt(0) + index))
      .expr(expr)
      .legendFormat(legend);
    // Grafana shows the traces of recorded requests as points among the durations.
    if (expr.includes('histogram_quantile(')) query.exemplar(true);
    panel.withTarget(query);
  });
  return panel;
}

function buildDashboard(): Dashboard {
  const builder = new DashboardBuilder('Gatehouse')
    .uid('gatehouse')
    .tags(['gatehouse'])
    .timezone('browser')
    .refresh('30s')
    .time({ from: 'now-3h', to: 'now' })
    .withVariable(dataSource);
  let id = 0;
  for (const { title, panels } of rows) {
    builder.withRow(new RowBuilder(title).id(++id));
    for (const panel of panels) builder.withPanel(panelOf(panel, ++id));
  }
  return builder.build();
}

/** Grafana's dashboard. Its library gives the panels their places and the fields of Grafana's schema. */
export const dashboard: Dashboard = buildDashboard();
