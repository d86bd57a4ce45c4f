import { isDeepStrictEqual } from 'node:util';

/**
 * An equality tester for jest. `toMatchObject` compares an object by the keys of the expected one. So a regular expression, a URL and `{}`, which
 * have none, would match every value, even undefined. With this tester, `{}` matches objects only, and the others match their equals. A text is
 * compared with a pattern by `expect.stringMatching`.
 */
export function compareEveryValue(received: unknown, expected: unknown): boolean | undefined {
  if (typeof expected !== 'object' || expected === null || Object.keys(expected).length > 0) return undefined;
  // Jest compares these by other means than their keys.
  if (Symbol.iterator in expected || expected instanceof Error) return undefined;
  if (Object.getPrototypeOf(expected) !== Object.prototype) return isDeepStrictEqual(received, expected);
  return typeof received === 'object' && received !== null ? undefined : false;
}
