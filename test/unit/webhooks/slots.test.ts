import { describe, expect, test } from '@jest/globals';
import { createSlots } from '../../../src/webhooks/delivery/slots.ts';
import type { Slots } from '../../../src/webhooks/delivery/slots.ts';

const times = (count: number, what: () => void): void => Array.from({ length: count }).forEach(what);
const withLanes = (maxInFlight: number, owners: readonly string[]): Slots => {
  const slots = createSlots(maxInFlight);
  owners.forEach((id) => slots.addLane(id));
  return slots;
};
const merchants = (count: number): string[] => Array.from({ length: count }, (_, index) => `mer_${index}`);

describe('slots', () => {
  test('are sixteen for one merchant, over all its lanes', () => {
    const slots = withLanes(256, ['mer_a', 'mer_a', 'mer_b']);

    times(16, () => slots.take('mer_a'));

    expect(slots.isFree('mer_a')).toBe(false);
    expect(slots.isFree('mer_b')).toBe(true);
    slots.giveBack('mer_a');
    expect(slots.isFree('mer_a')).toBe(true);
  });

  test('never exceed the limit of the process in total', () => {
    const slots = withLanes(20, merchants(3));

    times(10, () => slots.take('mer_0'));
    times(10, () => slots.take('mer_1'));

    expect(slots.isFree('mer_2')).toBe(false);
  });

  test('are shared by a merchant among its lanes, and by all lanes, with a quarter left for new ones', () => {
    expect(withLanes(256, ['mer_a']).share('mer_a')).toBe(16);
    expect(withLanes(256, ['mer_a', 'mer_a', 'mer_a', 'mer_a']).share('mer_a')).toBe(4);
    expect(withLanes(256, merchants(48)).share('mer_0')).toBe(4);
    expect(withLanes(256, merchants(1_000)).share('mer_0')).toBe(1);
  });

  test('are full for a merchant with sixteen lanes, until one is released', () => {
    const slots = withLanes(256, [...Array<string>(16).fill('mer_a'), 'mer_b']);

    expect(slots.fullOwners()).toEqual(['mer_a']);
    slots.removeLane('mer_a');
    expect(slots.fullOwners()).toEqual([]);
  });

  test('are crowded when three quarters of them are in use by lanes', () => {
    expect(withLanes(100, merchants(74)).isCrowded()).toBe(false);
    expect(withLanes(100, merchants(75)).isCrowded()).toBe(true);
    expect(withLanes(100, merchants(100)).lanesLeft()).toBe(0);
  });
});
