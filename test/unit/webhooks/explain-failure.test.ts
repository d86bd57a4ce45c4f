import { expect, test } from '@jest/globals';
import { errors } from 'undici';
import { explainFailure } from '../../../src/webhooks/sending/explain-failure.ts';
import type { FailedAttempt } from '../../../src/webhooks/sending/explain-failure.ts';

const coded = (code: string): Error => Object.assign(new Error('of the library'), { code });

const explain = (code: string, attempt: Partial<FailedAttempt> = {}) =>
  explainFailure(coded(code), {
    url: new URL('https://shop.example/hook?token=s3cret'),
    status: 0,
    phase: 'connected',
    isTooLate: false,
    totalMs: 15_000,
    connectMs: 5_000,
    ...attempt,
  });

/** What undici may throw while it reads an answer, and what each means. */
const fromUndici: readonly (readonly [code: string, result: string, words: RegExp])[] = [
  ['UND_ERR_HEADERS_OVERFLOW', 'UNREADABLE', /response headers are larger than 16 kB/],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UNREADABLE', /length of its body differs from its Content-Length/],
  ['HPE_INVALID_CONSTANT', 'UNREADABLE', /is not HTTP/],
  ['UND_ERR_SOCKET', 'CONNECTION_FAILED', /closed the connection without a usable response/],
  ['UND_ERR_CLOSED', 'CONNECTION_FAILED', /closed the connection without a usable response/],
  ['UND_ERR_DESTROYED', 'CONNECTION_FAILED', /closed the connection without a usable response/],
];

/**
 * What undici has for what the sender does not use: its own time limits, its checks of our arguments, proxies,
 * redirects, retries and WebSockets.
 */
const notUsed = new Set([
  'UND_ERR',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_INVALID_RETURN_VALUE',
  'UND_ERR_ABORT',
  'UND_ERR_ABORTED',
  'UND_ERR_INFO',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_BPL_MISSING_UPSTREAM',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  'UND_ERR_REQ_RETRY',
  'UND_ERR_RESPONSE',
  'UND_ERR_PRX_TLS',
  'UND_ERR_PRX_CONN',
  'UND_ERR_SOCKS5',
  'UND_ERR_MAX_ORIGINS_REACHED',
  'UND_ERR_REDIRECT_MAX',
  'UND_ERR_WS_MESSAGE_SIZE_EXCEEDED',
  'ERR_WEBASSEMBLY_NOT_SUPPORTED',
]);

test('every error of this version of undici has its words, or cannot come', () => {
  const known = new Set([...notUsed, ...fromUndici.map(([code]) => code)]);
  const codes = Object.values(errors).flatMap((kind) => {
    const Made = kind as new (...values: unknown[]) => { readonly code?: unknown };
    const { code } = new Made('', 0, {});
    return typeof code === 'string' ? [code] : [];
  });

  expect(codes.length).toBeGreaterThan(10);
  expect([...new Set(codes)].filter((code) => !known.has(code) && !code.startsWith('HPE_'))).toEqual([]);
});

test.each(fromUndici)('%s while an answer is read: %s', (code, result, words) => {
  const said = explain(code);

  expect(said).toMatchObject({ result, detail: expect.stringMatching(words) });
  expect(said.detail).not.toMatch(/s3cret|no connection|UND_ERR/);
});

/** What Node.js gives of TCP (libuv's names), while the connection is made and while it is used. */
test.each<[string, RegExp, RegExp]>([
  ['ECONNREFUSED', /refused the connection/, /failed \(ECONNREFUSED\)/],
  [
    'ECONNRESET',
    /closed the connection before it was established/,
    /closed the connection without a usable response/,
  ],
  [
    'ECONNABORTED',
    /closed the connection before it was established/,
    /closed the connection without a usable response/,
  ],
  [
    'EPIPE',
    /closed the connection before it was established/,
    /closed the connection without a usable response/,
  ],
  ['EHOSTUNREACH', /there is no route to/, /the network lost the connection/],
  ['ENETUNREACH', /there is no route to/, /the network lost the connection/],
  ['ENETDOWN', /there is no route to/, /the network lost the connection/],
  ['EHOSTDOWN', /there is no route to/, /failed \(EHOSTDOWN\)/],
  ['ETIMEDOUT', /check that the host is up/, /the network lost the connection/],
  ['EMFILE', /Gatehouse could not open a connection/, /failed \(EMFILE\)/],
  ['ENFILE', /Gatehouse could not open a connection/, /failed \(ENFILE\)/],
  ['ENOBUFS', /Gatehouse could not open a connection/, /failed \(ENOBUFS\)/],
  ['ENOMEM', /Gatehouse could not open a connection/, /failed \(ENOMEM\)/],
  ['EADDRNOTAVAIL', /Gatehouse could not open a connection/, /failed \(EADDRNOTAVAIL\)/],
  ['EADDRINUSE', /Gatehouse could not open a connection/, /failed \(EADDRINUSE\)/],
  ['EACCES', /Gatehouse could not open a connection/, /failed \(EACCES\)/],
  ['EPERM', /Gatehouse could not open a connection/, /failed \(EPERM\)/],
])('%s says what failed, and where', (code, connecting, connected) => {
  const [before, after] = [explain(code, { phase: 'connecting' }), explain(code)];

  expect(before).toMatchObject({ result: 'CONNECTION_FAILED', detail: expect.stringMatching(connecting) });
  expect(after).toMatchObject({ result: 'CONNECTION_FAILED', detail: expect.stringMatching(connected) });
});

test('a connection that breaks within an answer names the status that had come', () => {
  expect(explain('ECONNRESET', { status: 200 }).detail).toBe(
    'answered 200 OK, but the connection was closed before the end of the body',
  );
});
