import { describe, expect, test } from '@jest/globals';
import { networkOf, removeForwardedPorts, siteOf } from '../../../src/platform/http/client-address.ts';

describe('clients are counted by', () => {
  test.each([
    ['an IPv4 address', '192.0.2.7', '192.0.2.7'],
    ['the IPv4 address in a mapped IPv6 one', '::ffff:192.0.2.7', '192.0.2.7'],
    ['an empty text, when the client has disconnected', '', ''],
    ['an empty text, when a proxy names no address', 'unknown', ''],
  ])('%s', (_name, ip, network) => {
    expect(networkOf(ip)).toBe(network);
  });

  test('the /64 of an IPv6 address', () => {
    expect(networkOf('2001:db8:1:2:aaaa::1')).toBe(networkOf('2001:db8:1:2:ffff:ffff::9'));
    expect(networkOf('2001:db8:1:3::1')).not.toBe(networkOf('2001:db8:1:2::1'));
  });

  test('the /48 of an IPv6 address, where they share a queue', () => {
    expect(siteOf('2001:db8:1:3::1')).toBe(siteOf('2001:db8:1:2::1'));
    expect(siteOf('2001:db8:2::1')).not.toBe(siteOf('2001:db8:1::1'));
    expect(siteOf('::ffff:192.0.2.7')).toBe('192.0.2.7');
  });
});

test.each([
  ['192.0.2.7:4711', '192.0.2.7'],
  ['198.51.100.1, 192.0.2.7:4711', '198.51.100.1, 192.0.2.7'],
  ['[2001:db8::1]:4711', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['unknown, 192.0.2.7', 'unknown, 192.0.2.7'],
  ['shop.example:80', 'shop.example:80'],
])('X-Forwarded-For: %s is read as %s', (sent, read) => {
  const headers = { 'x-forwarded-for': sent };

  removeForwardedPorts(headers);

  expect(headers['x-forwarded-for']).toBe(read);
});
