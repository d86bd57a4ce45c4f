import { expect, test } from '@jest/globals';
import { isFromOurPages } from '../../../src/platform/http/same-origin.ts';

const own = 'https://pay.example';

test.each([
  ['the browser says it is', { 'sec-fetch-site': 'same-origin' }, false, true],
  ['the browser says another site', { 'sec-fetch-site': 'cross-site', origin: own }, true, false],
  ['the browser says a sister site', { 'sec-fetch-site': 'same-site' }, true, false],
  ['the browser says nobody', { 'sec-fetch-site': 'none' }, true, false],
  ['an old browser names our origin', { origin: own }, false, true],
  ['an old browser names another', { origin: 'https://pay.example.evil' }, true, false],
  ['an old browser names our host on http', { origin: 'http://pay.example' }, true, false],
  ['an old browser names none, with our cookie', { origin: 'null' }, true, true],
  ['an old browser names none, without our cookie', { origin: 'null' }, false, false],
  ['nothing is said, with our cookie', {}, true, true],
  ['nothing is said, without our cookie', {}, false, false],
])('a form from our pages: when %s', (_name, headers, hasCookie, expected) => {
  expect(isFromOurPages(headers, own, hasCookie)).toBe(expected);
});
