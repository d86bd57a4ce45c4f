import { expect, test } from '@jest/globals';
import { Gauge } from 'prom-client';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';

const logger = createLogger({ process: 'test', instance: 'test', level: 'silent' });

/** Metrics with one reading, and a clock that the test moves. */
function withReading(read: () => Promise<number>) {
  const clock = { nowMs: 0 };
  const metrics = createMetrics({ logger, nowMs: () => clock.nowMs });
  metrics.addReading('depth', (registry) => {
    const gauge = new Gauge({ name: 'well_depth', help: 'Depth of the well.', registers: [registry] });
    return async () => gauge.set(await read());
  });
  return { metrics, clock };
}

test('the page has what Node and the system say of the process', async () => {
  const { body, contentType } = await createMetrics({ logger, nowMs: () => 0 }).page();
  expect(contentType).toMatch(/^text\/plain/);
  for (const name of [
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'nodejs_eventloop_lag_p99_seconds',
  ])
    expect(body).toMatch(new RegExp(`^${name} [0-9]`, 'm'));
});

test('a reading is made before the page is shown', async () => {
  const { metrics } = withReading(() => Promise.resolve(7));
  expect((await metrics.page()).body).toMatch(/^well_depth 7$/m);
});

test('many who ask at once, or soon after, cost one reading', async () => {
  let readings = 0;
  const { metrics, clock } = withReading(() => Promise.resolve((readings += 1)));
  await Promise.all([metrics.page(), metrics.page()]);
  clock.nowMs = 1_999;
  await metrics.page();
  expect(readings).toBe(1);
  clock.nowMs = 2_000;
  expect((await metrics.page()).body).toMatch(/^well_depth 2$/m);
});

test('what cannot be read is left out and counted, and the rest is shown', async () => {
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
