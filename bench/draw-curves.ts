import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { View, parse } from 'vega';
import { compile } from 'vega-lite';
import type { TopLevelSpec } from 'vega-lite';
import type { Measured } from './measured.ts';
import { median } from './statistics.ts';

interface Point {
  readonly contender: string;
  readonly connections: number;
  readonly value: number;
  /** Tells p50 from p99 where both are drawn. */
  readonly percentile?: string;
}

/** Draws rate and latency against connections into a folder, as SVG files that pages can show. */
export async function drawCurves(results: readonly Measured[], folder: string): Promise<void> {
  const rates = results.map(({ contender, connections, samples }) => ({
    contender,
    connections,
    value: median(samples.map(({ perSecond }) => perSecond)),
  }));
  const latencies = results
    .filter(({ contender }) => contender.startsWith('gatehouse'))
    .flatMap(({ contender, connections, samples }) => [
      { contender, connections, percentile: 'p50', value: median(samples.map(({ p50_ms }) => p50_ms)) },
      { contender, connections, percentile: 'p99', value: median(samples.map(({ p99_ms }) => p99_ms ?? 0)) },
    ]);
  const about = (word: string) => rates.filter(({ contender }) => contender.includes(word));
  await draw(join(folder, 'register.svg'), 'Durable registrations a second', 'per second', [
    ...about('register'),
    ...about('insert'),
  ]);
  await draw(join(folder, 'verify.svg'), 'Status checks a second', 'per second', about('verify'));
  await draw(join(folder, 'latency.svg'), 'Latency of Gatehouse under full load', 'milliseconds', latencies);
}

async function draw(path: string, title: string, unit: string, values: readonly Point[]): Promise<void> {
  if (values.length === 0) return;
  const spec: TopLevelSpec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title,
    width: 560,
    height: 300,
    background: 'white',
    data: { values: [...values] },
    mark: { type: 'line', point: true },
    encoding: {
      x: {
        field: 'connections',
        type: 'quantitative',
        scale: { type: 'log', base: 4 },
        axis: { values: [...new Set(values.map(({ connections }) => connections))], title: 'connections' },
      },
      y: { field: 'value', type: 'quantitative', axis: { title: unit } },
      color: {
        field: 'contender',
        type: 'nominal',
        legend: { title: null, orient: 'bottom', columns: 2, labelLimit: 0 },
      },
      ...(values.some(({ percentile }) => percentile !== undefined)
        ? {
            strokeDash: {
              field: 'percentile',
              type: 'nominal',
              legend: { title: null, orient: 'bottom', symbolType: 'stroke', symbolSize: 400 },
            },
          }
        : {}),
    },
  };
  const view = new View(parse(compile(spec).spec), { renderer: 'none' });
  await writeFile(path, `${await view.toSVG()}\n`);
  view.finalize();
}
