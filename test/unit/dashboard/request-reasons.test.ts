import { expect, test } from '@jest/globals';
import { errorReasons } from '../../../src/contract/error-reason.ts';
import { requests as amharic } from '../../../src/dashboard/language/amharic/requests.ts';
import { requests as english } from '../../../src/dashboard/language/english/requests.ts';
import { facadeReasons } from '../../../src/rest-facade/request-failure.ts';
import { merchantReasons } from '../../../src/rest-facade/rpc-failure.ts';

/** No merchant's log contains these requests, or their answer is a 5xx. */
const withoutText: ReadonlySet<string> = new Set([
  ...['NO_API_KEY', 'TOO_MANY_FAILED_KEYS', 'ROUTE_NOT_FOUND', 'UNEXPECTED'],
  // The limits of signing in.
  'TOO_MANY_TRIES',
]);

const limits = Object.entries(errorReasons).flatMap(([reason, { httpStatus }]) =>
  httpStatus === 429 ? [reason] : [],
);
const reasons = new Set<string>([...merchantReasons, ...facadeReasons, ...limits, 'INVALID_API_KEY']);

test.each([
  ['English', english],
  ['Amharic', amharic],
])('the log of API requests explains every reason for which a request is refused, in %s', (_name, words) => {
  const missing = [...reasons].filter((reason) => !Object.hasOwn(words.reasons, reason));

  expect(missing.sort()).toEqual([...withoutText].sort());
});
