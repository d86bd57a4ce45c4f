import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { firstInFlight, healthAfter, inFlightAfter } from '../../../src/webhooks/domain/lane-health.ts';
import type { LaneHealth } from '../../../src/webhooks/domain/lane-health.ts';
import { forAll } from '../../support/for-all.ts';

const now = new Date('2026-03-01T12:00:00.000Z');
const middle = (): number => 0.5;
const healthy: LaneHealth = { consecutiveFailures: 0, probeAt: undefined };
const failing = (consecutiveFailures: number): LaneHealth => ({
  consecutiveFailures,
  probeAt: undefined,
});
const failed = (health: LaneHealth, endedAt = now): LaneHealth =>
  healthAfter(health, { isDelivered: false, endedAt, random: middle });
const cooldownMs = ({ probeAt }: LaneHealth, from = now): number | undefined =>
  probeAt && probeAt.getTime() - from.getTime();

describe('a circuit opens', () => {
  test('not before the fifth failure in a row', () => {
    const fourth = failed(failed(failed(failed(healthy))));

    expect(fourth).toEqual({ consecutiveFailures: 4, probeAt: undefined });
    expect(cooldownMs(failed(fourth))).toBe(5_000);
  });

  test.each([
    [5, 5_000],
    [6, 10_000],
    [7, 20_000],
    [8, 40_000],
    [9, 80_000],
    [10, 160_000],
    [11, 300_000],
    [12, 300_000],
    [5_000, 300_000],
  ])('after %i failures in a row for about %i ms', (failures, ms) => {
    expect(cooldownMs(failed(failing(failures - 1)))).toBe(ms);
  });

  forAll([fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.integer({ min: 5, max: 40 })])(
    'for at most a fifth more or less than planned',
    (roll, failures) => {
      const health = healthAfter(failing(failures - 1), {
        isDelivered: false,
        endedAt: now,
        random: () => roll,
      });
      const planned = Math.min(5_000 * 2 ** (failures - 5), 300_000);
      expect(cooldownMs(health)).toBeGreaterThanOrEqual(planned * 0.8 - 1);
      expect(cooldownMs(health)).toBeLessThanOrEqual(planned * 1.2 + 1);
    },
  );

  test('for no longer when an attempt that was in progress fails afterwards', () => {
    const open = failed(failing(4));

    expect(failed(open, new Date(now.getTime() + 4_999))).toEqual(open);
  });

  test('again, and for longer, when the probe fails', () => {
    const probed = new Date(now.getTime() + 5_000);

    expect(cooldownMs(failed(failed(failing(4)), probed), probed)).toBe(10_000);
  });

  test('and closes after one success', () => {
    const health = healthAfter(failed(failing(9)), { isDelivered: true, endedAt: now, random: middle });

    expect(health).toEqual(healthy);
  });
});

describe('the number of concurrent deliveries of a lane', () => {
  test('begins with two on a healthy lane, and with one after a failed attempt', () =>
    expect([firstInFlight(healthy), firstInFlight(failing(1)), firstInFlight(failing(7))]).toEqual([
      2, 1, 1,
    ]));

  test('doubles with each success up to eight, and is one after a failure', () =>
    expect([
      inFlightAfter(1, true),
      inFlightAfter(2, true),
      inFlightAfter(4, true),
      inFlightAfter(8, true),
      inFlightAfter(8, false),
    ]).toEqual([2, 4, 8, 8, 1]));
});
