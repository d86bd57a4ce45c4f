import { expect, test } from '@jest/globals';
import { restartDelayMs } from '../../../src/main/local/restart-delay.ts';

const minute = 60_000;

test.each([
  { what: 'the first end, soon after the start', ready: [1_000], waits: [0] },
  { what: 'the first end, before it was ready', ready: [0], waits: [0] },
  { what: 'ends within a minute', ready: [9, 9, 9, 9, 9, 9], waits: [0, 500, 1_000, 2_000, 4_000, 8_000] },
  { what: 'no wait longer than half a minute', ready: Array(9).fill(0), waits: [16_000, 30_000, 30_000] },
  { what: 'ends ten minutes apart', ready: Array(7).fill(10 * minute), waits: Array(7).fill(0) },
  {
    what: 'a healthy minute after many quick ends',
    ready: [0, 0, 0, minute, 0],
    waits: [0, 500, 1_000, 0, 500],
  },
  { what: 'almost a minute', ready: [0, minute - 1, minute - 1], waits: [0, 500, 1_000] },
])('$what: the waits are $waits ms', ({ ready, waits }) => {
  const seen: number[] = [];
  for (const readyMs of ready as number[]) seen.push(restartDelayMs(seen.at(-1), readyMs));
  expect(seen.slice(-waits.length)).toEqual(waits);
});
