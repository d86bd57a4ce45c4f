import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { View, parse } from 'vega';
import { compile } from 'vega-lite';
import type { TopLevelSpec } from 'vega-lite';
import type { Measured } from '../contender.ts';
import { medianOf } from '../judgement/ratios.ts';
import type { MemoryReport } from '../parts/memory.ts';
import type { SizeReport } from '../parts/size.ts';
import type { Reports } from './reports.ts';

interface Point {
  readonly x: number;
  readonly y: number;
  /** The meaning of the line's colour. */
  readonly line: string;
  /** The meaning of the line's dashes. */
  readonly dash?: string;
}

interface Chart {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** Logarithmic, with the ticks at the points. */
  readonly logarithmic: boolean;
  readonly points: readonly Point[];
}

/** Draws the results into a folder, as SVG files that pages can show. */
export async function drawCurves({ load, size, memory }: Reports, folder: string): Promise<void> {
  const charts = {
    ...(load === undefined ? {} : loadCharts(load.report.measured)),
    ...(size === undefined ? {} : { size: sizeChart(size.report) }),
    ...(memory === undefined ? {} : { memory: memoryChart(memory.report) }),
  };
  for (const [name, chart] of Object.entries(charts))
    if (chart.points.length > 0) await writeFile(join(folder, `${name}.svg`), await draw(chart));
}

function loadCharts(measured: readonly Measured[]): Record<string, Chart> {
  const rates = (title: string, shown: RegExp): Chart => ({
    title,
    xTitle: 'connections',
    yTitle: 'per second',
    logarithmic: true,
    points: measured
      .filter(({ contender }) => shown.test(contender))
      .map(({ contender, connections }) => ({
        x: connections,
        y: medianOf(measured, contender, connections, 'perSecond'),
        line: contender,
      })),
  });
  return {
    register: rates('Durable registrations a second', /^rest register|^pgbench insert/),
    verify: rates('Status checks a second', /verify|^pgbench select/),
    rpc: rates('Orders a second over RPC, against calls in flight', /^grpc-js|^Connect/),
    latency: {
      title: 'Latency of the merchant API under full load',
      xTitle: 'connections',
      yTitle: 'milliseconds',
      logarithmic: true,
      points: measured
        .filter(({ contender }) => contender.startsWith('rest'))
        .flatMap(({ contender, connections }) =>
          (['p50_ms', 'p99_ms'] as const).map((figure) => ({
            x: connections,
            y: medianOf(measured, contender, connections, figure),
            line: contender,
            dash: figure.replace('_ms', ''),
          })),
        ),
    },
  };
}

const sizeChart = ({ sizes }: SizeReport): Chart => ({
  title: 'Latency against orders in the table (p50)',
  xTitle: 'orders',
  yTitle: 'milliseconds',
  logarithmic: true,
  points: sizes.flatMap(({ orders, measured }) =>
    measured.map(({ contender, connections }) => ({
      x: orders,
      y: medianOf(measured, contender, connections, 'p50_ms'),
      line: contender,
      dash: `@ ${connections}`,
    })),
  ),
});

const memoryChart = ({ samples }: MemoryReport): Chart => ({
  title: 'Memory over time',
  xTitle: 'seconds',
  yTitle: 'MB',
  logarithmic: false,
  points: samples.flatMap(({ seconds, process, resident, heap }) => [
    { x: seconds, y: resident, line: process, dash: 'resident' },
    ...(heap === null ? [] : [{ x: seconds, y: heap, line: process, dash: 'heap after a full collection' }]),
  ]),
});

async function draw({ title, xTitle, yTitle, logarithmic, points }: Chart): Promise<string> {
  const legend = { title: null, orient: 'bottom', columns: 2, labelLimit: 0 } as const;
  const hasDashes = points.some(({ dash }) => dash !== undefined);
  const strokeDash = {
    field: 'dash',
    type: 'nominal',
    legend: { ...legend, symbolType: 'stroke', symbolSize: 400, symbolStrokeColor: 'black' },
  } as const;
  const spec: TopLevelSpec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title,
    width: 560,
    height: 300,
    background: 'white',
    data: { values: [...points] },
    encoding: {
      x: {
        field: 'x',
        type: 'quantitative',
        ...(logarithmic ? { scale: { type: 'log', base: 4 } } : {}),
        axis: { title: xTitle, ...(logarithmic ? { values: [...new Set(points.map(({ x }) => x))] } : {}) },
      },
      y: { field: 'y', type: 'quantitative', axis: { title: yTitle } },
      color: { field: 'line', type: 'nominal', legend },
    },
    // The points have no dashes. Otherwise their filled symbols would hide the dashes in the legend.
    layer: [
      { mark: 'line', encoding: hasDashes ? { strokeDash } : {} },
      ...(logarithmic ? [{ mark: { type: 'point', filled: true, opacity: 1 } } as const] : []),
    ],
  };
  const view = new View(parse(compile(spec).spec), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  return `${svg}\n`;
}
