import { describe, expect, test } from '@jest/globals';
import { ownPath } from '../../../src/dashboard/access/own-path.ts';
import { readCarriedForm, writeCarriedForm } from '../../../src/dashboard/session/session-data.ts';

const keys = '/m/mer_1/sandbox/keys';

describe('a path of the dashboard', () => {
  test.each([
    ['/', '/'],
    ['/account', '/account'],
    [`${keys}/`, `${keys}/`],
    [keys, keys],
    ['/m/mer_1/sandbox/orders.csv?number=a%20b', '/m/mer_1/sandbox/orders.csv?number=a%20b'],
    // The parsed path is used, and never the text.
    ['/m/mer_1/x/../sandbox/keys#top', keys],
    ['/m/mer_1\\sandbox\\keys', keys],
    ['/m/mer_1/sandbox/k\teys', keys],
  ])('may be %p', (text, path) => {
    expect(ownPath(text, 'GET')).toBe(path);
  });

  test.each([
    ...['', 'm/mer_1', '//evil.example', '///evil.example', '/\\evil.example', '\\\\evil.example'],
    ...['/\t/evil.example', '/\n\\evil.example', `/x/..//evil.example${keys}`, `//evil.example${keys}`],
    ...[`/\\evil.example${keys}`, '/%5Cevil.example', '/%2F%2Fevil.example', `https://evil.example${keys}`],
    ...[`http://dashboard.invalid${keys}`, '//[', 'javascript:alert(1)', '/no-such-route'],
    // A page that is open to everyone never leads to the sign-in.
    '/sign-in?next=/',
    ...[`${keys}?${'x'.repeat(2000)}`, ['/account', '/account'], undefined],
  ])('cannot be %p, with any method', (text) => {
    expect([ownPath(text, 'GET'), ownPath(text, 'POST')]).toEqual([undefined, undefined]);
  });

  test('accepts a form only where a route does', () => {
    const carried = (action: string) => readCarriedForm(writeCarriedForm({ action, fields: [] }));

    expect(carried(keys)).toEqual({ action: keys, fields: [] });
    const elsewhere = ['/\\evil.example', `/\\evil.example${keys}`];
    for (const action of [...elsewhere, '/sign-out', '/m/mer_1/sandbox', '/sign-in'])
      expect(carried(action)).toBeUndefined();
  });
});
