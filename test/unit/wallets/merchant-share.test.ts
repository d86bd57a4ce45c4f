import { expect, test } from '@jest/globals';
import { createMerchantShare } from '../../../src/wallets/merchant-share.ts';

/** A share of which one merchant has so many places. */
function shareOf(places: number, taken: number) {
  const share = createMerchantShare(places);
  for (let count = 0; count < taken; count += 1) share.take('one');
  return share;
}

test('a merchant alone may have three quarters of the places', () => {
  expect(shareOf(32, 0).free(32)).toBe(24);
  expect(shareOf(32, 20).free(12)).toBe(4);
  expect(shareOf(32, 23).full()).toEqual([]);
});

test('what is left is for all but the merchant who has so many', () => {
  const share = shareOf(32, 24);

  expect(share.full()).toEqual(['one']);
  expect(share.free(8)).toBe(8);
});

test('places that were given back can be had again', () => {
  const share = shareOf(32, 24);

  share.giveBack('one');

  expect(share.full()).toEqual([]);
  expect(share.free(9)).toBe(1);
});

test.each([1, 2, 3, 4])('of %d places at least one can be had', (places) => {
  expect(shareOf(places, 0).free(places)).toBeGreaterThanOrEqual(1);
});
