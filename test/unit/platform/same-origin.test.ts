import { expect, test } from '@jest/globals';
import { isFromOurPages } from '../../../src/platform/http/same-origin.ts';

const own = 'https://pay.example';

test.each([
  ['the browser reports the same origin', { 'sec-fetch-site': 'same-origin' }, false, true],
  ['the browser reports another site', { 'sec-fetch-site': 'cross-site', origin: own }, true, false],
  ['the browser reports a sister site', { 'sec-fetch-site': 'same-site' }, true, false],
  ['the browser reports no site', { 'sec-fetch-site': 'none' }, true, false],
  ['an old browser names our origin', { origin: own }, false, true],
  ['an old browser names another origin', { origin: 'https://pay.example.evil' }, true, false],
  ['an old browser names our host on http', { origin: 'http://pay.example' }, true, false],
  ['an old browser names no origin, with our cookie', { origin: 'null' }, true, true],
  ['an old browser names no origin, without our cookie', { origin: 'null' }, false, false],
  ['no header names an origin, with our cookie', {}, true, true],
  ['no header names an origin, without our cookie', {}, false, false],
])('a form is recognised as ours or foreign when %s', (_name, headers, hasCookie, expected) => {
  expect(isFromOurPages(headers, own, hasCookie)).toBe(expected);
});
