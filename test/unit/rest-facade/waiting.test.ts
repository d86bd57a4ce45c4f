import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { waitSecondsOf } from '../../../src/rest-facade/wait-preference.ts';
import { createWaitingSlots } from '../../../src/rest-facade/waiting-slots.ts';

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

  test('no header gives no wait, and any text is read without an error', () => {
    expect(waitSecondsOf(undefined)).toBeUndefined();
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 200 }), (text) => {
        const seconds = waitSecondsOf(text);
        return seconds === undefined || (seconds >= 0 && seconds <= 30);
      }),
    );
  });
});

describe('slots of waiting requests', () => {
  test('one merchant gets half of the slots, and two get a third each', () => {
    const takenBy = (total: number, merchants: readonly string[]): number[] => {
      const slots = createWaitingSlots(total);
      const taken = merchants.map(() => 0);
      for (let round = 0; round < total; round += 1)
        merchants.forEach((merchant, index) => {
          if (slots.take(merchant) !== undefined) taken[index] = (taken[index] ?? 0) + 1;
        });
      return taken;
    };
    expect(takenBy(20, ['a'])).toEqual([10]);
    expect(takenBy(21, ['a', 'b'])).toEqual([7, 7]);
  });

  test('whatever the others hold, a new merchant gets a place, and a freed place counts once', () => {
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
          const free = slots.take(String(merchant));
          if (free !== undefined) held.push(free);
        }
        expect(held.length).toBeLessThan(total);
        const free = slots.take('new');
        expect(free).toBeDefined();
        free?.();
        for (const each of held) each();
        expect(createWaitingSlots(total).take('new')).toBeDefined();
      }),
    );
  });
});
