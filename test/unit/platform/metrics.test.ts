import { expect, test } from '@jest/globals';
import { Counter, Gauge } from 'prom-client';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { createRpcMetrics } from '../../../src/platform/rpc/rpc-metrics.ts';
import type { Span } from '../../../src/platform/tracing/span.ts';
import type { Tracing } from '../../../src/platform/tracing/tracing.ts';

const silent = createLogger({ process: 'test', instance: 'test', level: 'silent' });

/** Metrics with one gauge, and a clock that the test moves. */
function withReading(read: () => Promise<number>, logger = silent) {
  const clock = { nowMs: 0 };
  const metrics = createMetrics({ logger, nowMs: () => clock.nowMs });
  metrics.addReading('depth', (registry) => {
    const gauge = new Gauge({ name: 'well_depth', help: 'Depth of the well.', registers: [registry] });
    return async () => gauge.set(await read());
  });
  return { metrics, clock };
}

test('the page has the metrics of Node and the system', async () => {
  const { body, contentType } = await createMetrics({ logger: silent, nowMs: () => 0 }).page();
  expect(contentType).toMatch(/^text\/plain/);
  for (const name of [
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'nodejs_eventloop_lag_max_seconds',
  ])
    expect(body).toMatch(new RegExp(`^${name} [0-9]`, 'm'));
});

test('requests at the same time get the same page, and later ones a new page', async () => {
  const metrics = createMetrics({ logger: silent, nowMs: () => 0 });
  const counter = new Counter({ name: 'dug_total', help: 'Wells.', registers: [metrics.registry] });
  const [first, second] = [metrics.page(), metrics.page()];
  expect(await second).toBe(await first);
  counter.inc(3);
  expect((await metrics.page()).body).toMatch(/^dug_total 3$/m);
});

test('many requests at once, or soon after each other, read a gauge once', async () => {
  let readings = 0;
  const { metrics, clock } = withReading(() => Promise.resolve((readings += 1)));
  await Promise.all([metrics.page(), metrics.page()]);
  clock.nowMs = 1_999;
  await metrics.page();
  expect(readings).toBe(1);
  clock.nowMs = 2_000;
  expect((await metrics.page()).body).toMatch(/^well_depth 2$/m);
});

test('a reading that fails for the same reason is logged once a minute, however often the page is read', async () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const logger = createLogger({ process: 'test', instance: 'test', level: 'warn' }, { write });
  const { metrics, clock } = withReading(() => Promise.reject(new Error('dry')), logger);

  for (; clock.nowMs < 10_000; clock.nowMs += 2_000) await metrics.page();

  expect(lines).toEqual([expect.stringContaining('"reading":"depth"')]);
});

test('a failed reading is left out and counted, and the other readings are shown', async () => {
  let isBroken = false;
  const { metrics, clock } = withReading(() =>
    isBroken ? Promise.reject(new Error('dry')) : Promise.resolve(7),
  );
  await metrics.page();
  isBroken = true;
  clock.nowMs = 10_000;
  const { body } = await metrics.page();
  expect(body).not.toContain('well_depth');
  expect(body).toContain('gatehouse_metrics_readings_failed_total{reading="depth"} 1');
  isBroken = false;
  clock.nowMs = 20_000;
  expect((await metrics.page()).body).toMatch(/^well_depth 7$/m);
});

/** The headers that Prometheus sends, before version 3 and since. */
const ofPrometheus = [
  'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.2',
];

const spanOf = (traceId: string, isSampled: boolean): Span => {
  const ignore = (): void => undefined;
  const span: Span = {
    context: { traceId, spanId: '00f067aa0ba902b7', isSampled },
    begin: () => span,
    set: ignore,
    rename: ignore,
    link: ignore,
    end: ignore,
  };
  return span;
};

function withDurations(isTracing: boolean) {
  const begin = () => spanOf('e'.repeat(32), true);
  const tracing: Tracing = { beginAtEdge: begin, follow: begin, close: () => Promise.resolve() };
  const metrics = createMetrics({ logger: silent, nowMs: () => 0, tracing: isTracing ? tracing : undefined });
  const observe = metrics.addDurations({
    name: 'dig_seconds',
    help: 'Duration of digging.',
    labelNames: ['place'],
    buckets: [1, 5],
  });
  return { metrics, observe };
}

test('OpenMetrics has the trace of the latest recorded duration of a bucket, and no other trace', async () => {
  const { metrics, observe } = withDurations(true);
  observe({ place: 'well' }, 0.5, spanOf('a'.repeat(32), true));
  observe({ place: 'well' }, 0.7, spanOf('b'.repeat(32), true));
  observe({ place: 'well' }, 0.8, spanOf('c'.repeat(32), false));
  observe({ place: 'well' }, 3, spanOf('d'.repeat(32), false));
  observe({ place: 'well' }, 9, undefined);
  const { contentType, body } = await metrics.page(ofPrometheus[0]);
  expect(contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
  expect(body.split('\n').filter((line) => line.startsWith('dig_seconds'))).toEqual([
    expect.stringMatching(
      /^dig_seconds_bucket\{le="1",place="well"\} 3 # \{trace_id="b{32}"\} 0\.7 [0-9.]+$/,
    ),
    'dig_seconds_bucket{le="5",place="well"} 4',
    'dig_seconds_bucket{le="+Inf",place="well"} 5',
    'dig_seconds_sum{place="well"} 14',
    'dig_seconds_count{place="well"} 5',
  ]);
  expect(body.match(/^# EOF$/gm)).toHaveLength(1);
});

test('a process without traces has no exemplars', async () => {
  const { metrics, observe } = withDurations(false);
  observe({ place: 'well' }, 0.5, spanOf('a'.repeat(32), true));
  expect((await metrics.page(ofPrometheus[0])).body).toContain('dig_seconds_bucket{le="1",place="well"} 1\n');
});

test('metrics have the same names in both formats, however often they are read', async () => {
  const { metrics, observe } = withDurations(true);
  observe({ place: 'well' }, 0.5, spanOf('a'.repeat(32), true));
  metrics.addReading('wells', (registry) => {
    const wells = new Counter({ name: 'wells_total', help: 'Wells.', registers: [registry] });
    return () => {
      wells.inc();
      return Promise.resolve();
    };
  });
  const read = async (accept?: string): Promise<Set<string>> => {
    const { body } = await metrics.page(accept);
    return new Set(body.split('\n').flatMap((line) => /^[a-z][^ {]*/.exec(line)?.[0] ?? []));
  };
  const plain = await read();
  expect([...plain]).toEqual(expect.arrayContaining(['process_cpu_seconds_total', 'wells_total']));
  expect(await read(ofPrometheus[1])).toEqual(plain);
  expect(await read()).toEqual(plain);
  expect((await metrics.page()).body).not.toMatch(/ # \{|# EOF/);
});

test.each([
  ...ofPrometheus.map((accept) => [accept, 'openmetrics'] as const),
  ['application/openmetrics-text', 'openmetrics'],
  [undefined, 'plain'],
  ['*/*', 'plain'],
  ['text/html,application/xhtml+xml;q=0.9', 'plain'],
  ['text/plain, application/openmetrics-text;version=1.0.0;q=0', 'plain'],
  ['application/openmetrics-text; q=0.0, text/plain', 'plain'],
  ['application/openmetrics-text;version=1.0.0;q=0.3,text/plain;q=0.9', 'plain'],
  ['text/plain;q=0.2, Application/OpenMetrics-Text ; q=0.5', 'openmetrics'],
  ['application/openmetrics-text;q=0.3,*/*', 'plain'],
] as const)('a page for %s is %s', async (accept, format) => {
  const { contentType } = await createMetrics({ logger: silent, nowMs: () => 0 }).page(accept);
  expect(contentType).toMatch(
    format === 'plain' ? /^text\/plain; version=0\.0\.4/ : /^application\/openmetrics/,
  );
});

test('each call that is refused because too many wait is counted by its method', async () => {
  const metrics = createMetrics({ logger: silent, nowMs: () => 0 });
  const measure = createRpcMetrics(metrics);
  const call = {
    service: 'OrderService',
    method: 'GetOrder',
    role: 'facade',
    seconds: 0.001,
    span: undefined,
  };
  for (const isOverload of [true, true, false]) measure({ ...call, code: 'resource_exhausted', isOverload });

  const { body } = await metrics.page();

  expect(body).toMatch(
    /^gatehouse_rpc_overloaded_total\{service="OrderService",method="GetOrder",role="facade"\} 2$/m,
  );
  expect(body).toMatch(/^gatehouse_rpc_duration_seconds_count\{.*code="resource_exhausted"\} 3$/m);
});
