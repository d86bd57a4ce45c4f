import { describe, expect, test } from '@jest/globals';
import { networkOf } from '../../../src/rest-facade/rate-limits.ts';
import { loggablePath } from '../../../src/rest-facade/request-log.ts';

describe('a path in the log', () => {
  test.each([
    ['/api/v1/verify', '/api/v1/verify'],
    ['/api/v1/direct?payment_option=walleta_ussd&phone=0911223344', '/api/v1/direct'],
    ['/api/v1/verify#0911223344', '/api/v1/verify'],
    ['/api/v1/verify/0911223344', '/api/v1/verify/[digits]'],
    ['/verify/+251 91-122-3344/x', '/verify/+[digits]/x'],
    ['/verify/%2B251%2091%20122%203344', '/verify/%2B[digits]'],
    ['/api/svc_live_abcDEF123/x', '/api/svc_live_[masked]/x'],
    ['/api/v1/INV-42', '/api/v1/INV-42'],
    ['/api/v1/abebe@shop.example', '/api/v1/a***@shop.example'],
  ])('%s is written %s', (url, path) => {
    expect(loggablePath(url)).toBe(path);
  });

  test('is bounded', () => {
    expect(loggablePath(`/${'x'.repeat(10_000)}`)).toHaveLength(128);
  });
});

describe('failed keys are counted by', () => {
  test.each([
    ['an IPv4 address', '192.0.2.7', '192.0.2.7'],
    ['the IPv4 address in a mapped IPv6 one', '::ffff:192.0.2.7', '192.0.2.7'],
    ['unknown, when the client is gone', '', 'unknown'],
  ])('%s', (_name, ip, network) => {
    expect(networkOf(ip)).toBe(network);
  });

  test('the /64 of an IPv6 address', () => {
    expect(networkOf('2001:db8:1:2:aaaa::1')).toBe(networkOf('2001:db8:1:2:ffff:ffff::9'));
    expect(networkOf('2001:db8:1:3::1')).not.toBe(networkOf('2001:db8:1:2::1'));
  });
});
