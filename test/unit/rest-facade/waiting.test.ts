import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { waitSecondsOf } from '../../../src/rest-facade/wait-preference.ts';
import { createWaitingSlots } from '../../../src/rest-facade/waiting-slots.ts';
import type { SlotHolder, WaitingSlots } from '../../../src/rest-facade/waiting-slots.ts';

describe('the seconds of a Prefer header', () => {
  test.each([
    ['wait=10', 10],
    ['WAIT = "7"', 7],
    ['wait=0', 0],
    ['wait=30', 30],
    ['wait=31', 30],
    ['wait=99999999999999999999', 30],
    ['respond-async, wait=5; unit=s', 5],
    ['handling="a, wait=9", wait=4', 4],
    ['wait=3, wait=9', 3],
    ['wait', undefined],
    ['wait=', undefined],
    ['wait=-1', undefined],
    ['wait=1.5', undefined],
    ['wait=ten, wait=9', undefined],
    ['await=9', undefined],
    ['', undefined],
  ])('%j gives %p', (header, seconds) => {
    expect(waitSecondsOf(header)).toBe(seconds);
  });

  test('no header means no wait, and any text is parsed without an error', () => {
    expect(waitSecondsOf(undefined)).toBeUndefined();
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 200 }), (text) => {
        const seconds = waitSecondsOf(text);
        return seconds === undefined || (seconds >= 0 && seconds <= 30);
      }),
    );
  });

  // One of these headers took a tenth of a second, in which the facade answered nobody. The deadline stops the test then.
  test('a thousand headers of the longest size are read before the deadline', async () => {
    const spaces = ' '.repeat(15_900);
    for (let count = 0; count < 500; count += 1) {
      expect([waitSecondsOf(`a${spaces}b`), waitSecondsOf(`wait=${spaces}7 b`)]).toEqual([
        undefined,
        undefined,
      ]);
      await setImmediate();
    }
  }, 60_000);
});

const inProduction = (merchantId: string): SlotHolder => ({
  merchantId,
  environment: Environment.PRODUCTION,
});
const inSandbox = (merchantId: string): SlotHolder => ({ merchantId, environment: Environment.SANDBOX });

describe('slots of waiting requests', () => {
  const takeAll = (slots: WaitingSlots, holder: SlotHolder): number => {
    let taken = 0;
    while (slots.take(holder) !== undefined) taken += 1;
    return taken;
  };
  const takenBy = (total: number, holders: readonly SlotHolder[]): number[] => {
    const slots = createWaitingSlots(total);
    const taken = holders.map(() => 0);
    for (let round = 0; round < total; round += 1)
      holders.forEach((holder, index) => {
        if (slots.take(holder) !== undefined) taken[index] = (taken[index] ?? 0) + 1;
      });
    return taken;
  };

  test('one merchant gets half of the slots, and two get a third each', () => {
    expect(takenBy(20, [inProduction('a')])).toEqual([10]);
    expect(takenBy(21, [inProduction('a'), inProduction('b')])).toEqual([7, 7]);
  });

  test('a merchant has a share of its own in each environment', () => {
    const slots = createWaitingSlots(20);
    expect([takeAll(slots, inSandbox('a')), takeAll(slots, inProduction('a'))]).toEqual([10, 5]);
    expect(slots.refused()).toBe(2);
    expect(takenBy(21, [inSandbox('a'), inProduction('a')])).toEqual([7, 7]);
  });

  test('a new merchant gets a slot, whatever the others occupy, and a released slot counts once', () => {
    const step = fc.record({ merchant: fc.integer({ min: 0, max: 5 }), frees: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), fc.integer({ min: 8, max: 60 }), (steps, total) => {
        const slots = createWaitingSlots(total);
        const held: (() => void)[] = [];
        for (const { merchant, frees } of steps) {
          if (frees) {
            const free = held.shift();
            free?.();
            free?.();
            continue;
          }
          const free = slots.take(inSandbox(String(merchant)));
          if (free !== undefined) held.push(free);
        }
        expect(held.length).toBeLessThan(total);
        const free = slots.take(inSandbox('new'));
        expect(free).toBeDefined();
        free?.();
        for (const each of held) each();
        expect(slots.taken()).toBe(0);
        const again = takeAll(slots, inSandbox('0'));
        expect([again, slots.taken()]).toEqual([takeAll(createWaitingSlots(total), inSandbox('0')), again]);
      }),
    );
  });
});
