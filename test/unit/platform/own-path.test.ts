import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ownPath } from '../../../src/platform/http/own-path.ts';

test.each([
  ['/orders?page=2&page=3', '/orders', 'page=2&page=3'],
  ['/orders', '/orders', ''],
  ['/a?b?c', '/a', 'b%3Fc='],
  ['//[', '/[', ''],
  ['//evil.example/x?lang=am', '/evil.example/x', 'lang=am'],
  ['/\\evil.example', '/evil.example', ''],
  ['https://evil.example/', '/', ''],
  ['*', '/', ''],
  ['/%?lang=%E0', '/%', 'lang=%EF%BF%BD'],
])('the target %s is the path %s', (target, path, query) => {
  const own = ownPath(target);

  expect({ path: own.path, query: own.query.toString() }).toEqual({ path, query });
});

test('a link with the path of any target stays on its own host', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'/\\?#%[]@:.ax') }), (target) => {
      const { host } = new URL(ownPath(target).path, 'https://own.example');

      expect(host).toBe('own.example');
    }),
  );
});
