import { expect, test } from '@jest/globals';
import { createMerchantShare } from '../../../src/wallets/merchant-share.ts';

/** A share in which one merchant has this many slots. */
function shareOf(slots: number, taken: number) {
  const share = createMerchantShare(slots);
  for (let count = 0; count < taken; count += 1) share.take('one');
  return share;
}

test('a single merchant may use three quarters of the slots', () => {
  expect(shareOf(32, 0).free(32)).toBe(24);
  expect(shareOf(32, 20).free(12)).toBe(4);
  expect(shareOf(32, 23).full()).toEqual([]);
});

test('the remaining slots are for all other merchants', () => {
  const share = shareOf(32, 24);

  expect(share.full()).toEqual(['one']);
  expect(share.free(8)).toBe(8);
});

test('released slots can be used again', () => {
  const share = shareOf(32, 24);

  share.giveBack('one');

  expect(share.full()).toEqual([]);
  expect(share.free(9)).toBe(1);
});

test.each([1, 2, 3, 4])('at least one of %d slots can be used', (slots) => {
  expect(shareOf(slots, 0).free(slots)).toBeGreaterThanOrEqual(1);
});
