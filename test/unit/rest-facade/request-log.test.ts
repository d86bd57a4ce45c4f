import { describe, expect, test } from '@jest/globals';
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
  ])('%s is written as %s', (url, path) => {
    expect(loggablePath(url)).toBe(path);
  });

  test('has a limited length', () => {
    expect(loggablePath(`/${'x'.repeat(10_000)}`)).toHaveLength(128);
  });
});
