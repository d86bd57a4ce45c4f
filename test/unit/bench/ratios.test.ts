import { expect, test } from '@jest/globals';
import type { Measured } from '../../../bench/contender.ts';
import { judgeTargets } from '../../../bench/judgement/targets.ts';
import { ratiosOf } from '../../../bench/judgement/ratios.ts';

const measured = (contender: string, connections: number, ...rates: number[]): Measured => ({
  contender,
  connections,
  samples: rates.map((perSecond) => ({ perSecond, p50_ms: 1, p99_ms: 2, failed: 0, cpu_us: {} })),
});

test('a ratio compares the medians of two contenders at the same number of connections', () => {
  const ratios = ratiosOf([
    measured('rest verify ended', 64, 10, 30, 500),
    measured('bare Fastify verify', 64, 60, 1, 61),
    measured('bare Fastify verify', 256, 1),
  ]);
  expect(ratios).toEqual([{ name: 'verify ended / bare Fastify @ 64', value: 0.5 }]);
});

test('a target that was not measured is neither met nor missed', () => {
  expect(judgeTargets({}).every(({ met, measured: value }) => met === undefined && value === undefined)).toBe(
    true,
  );
});
