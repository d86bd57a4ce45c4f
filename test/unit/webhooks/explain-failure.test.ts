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

/** The errors of undici while it reads an answer, and their meanings. */
const fromUndici: readonly (readonly [code: string, result: string, words: RegExp])[] = [
  ['UND_ERR_HEADERS_OVERFLOW', 'UNREADABLE', /response headers are larger than 16 KiB/],
  [
    'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
    'UNREADABLE',
    /not HTTP\/1\.1: after Content-Length it has an invalid header/,
  ],
  ['HPE_INVALID_CONSTANT', 'UNREADABLE', /is not HTTP\/1\.1/],
  ['UND_ERR_SOCKET', 'CONNECTION_FAILED', /closed the connection without a usable response/],
  ['UND_ERR_CLOSED', 'CONNECTION_FAILED', /closed the connection without a usable response/],
  ['UND_ERR_DESTROYED', 'CONNECTION_FAILED', /closed the connection without a usable response/],
];

/**
 * The errors of undici for features that the sender does not use: its own time limits, its checks of our arguments,
 * proxies, redirects, retries and WebSockets.
 */
const notUsed = new Set([
  ...['UND_ERR', 'ERR_WEBASSEMBLY_NOT_SUPPORTED'],
  ...[
    'CONNECT_TIMEOUT HEADERS_TIMEOUT BODY_TIMEOUT INVALID_ARG INVALID_RETURN_VALUE ABORT ABORTED INFO',
    'REQ_CONTENT_LENGTH_MISMATCH NOT_SUPPORTED BPL_MISSING_UPSTREAM REQ_RETRY RESPONSE RES_EXCEEDED_MAX_SIZE',
    'PRX_TLS PRX_CONN SOCKS5 MAX_ORIGINS_REACHED REDIRECT_MAX WS_MESSAGE_SIZE_EXCEEDED',
  ].flatMap((names) => names.split(' ').map((name) => `UND_ERR_${name}`)),
]);

test('every error of this version of undici has a text, or cannot occur', () => {
  const known = new Set([...notUsed, ...fromUndici.map(([code]) => code)]);
  const codes = Object.values(errors).flatMap((kind) => {
    const Made = kind as new (...values: unknown[]) => { readonly code?: unknown };
    const { code } = new Made('', 0, {});
    return typeof code === 'string' ? [code] : [];
  });

  expect(codes.length).toBeGreaterThan(10);
  expect([...new Set(codes)].filter((code) => !known.has(code) && !code.startsWith('HPE_'))).toEqual([]);
});

test.each(fromUndici)('%s while an answer is read means %s', (code, result, words) => {
  const said = explain(code);

  expect(said).toMatchObject({ result, detail: expect.stringMatching(words) });
  expect(said.detail).not.toMatch(/s3cret|no connection|UND_ERR/);
});

/** The TCP errors of Node.js (with libuv's names), while the connection is opened and while it is used. */
const closed = /closed the connection without a usable response/;
const lost = /the network lost the connection/;
const other = /failed \(E[A-Z]+\)/;
test.each<[string, RegExp, RegExp]>([
  ['ECONNREFUSED', /refused the connection/, other],
  ['ECONNRESET ECONNABORTED EPIPE', /closed the connection before it was established/, closed],
  ['EHOSTUNREACH ENETUNREACH ENETDOWN', /there is no route to/, lost],
  ['EHOSTDOWN', /there is no route to/, other],
  ['ETIMEDOUT', /check that the host is up/, lost],
  ['EADDRNOTAVAIL EADDRINUSE EACCES EPERM', /Gatehouse could not open a connection/, other],
])('%s is explained with the failure and the address', (codes, connecting, connected) => {
  for (const code of codes.split(' ')) {
    const [before, after] = [explain(code, { phase: 'connecting' }), explain(code)];
    expect(before).toMatchObject({ result: 'CONNECTION_FAILED', detail: expect.stringMatching(connecting) });
    expect(after).toMatchObject({ result: 'CONNECTION_FAILED', detail: expect.stringMatching(connected) });
    if (connected === other) expect(after.detail).toContain(`failed (${code})`);
  }
});

test('a connection that breaks within an answer names the received status', () => {
  expect(explain('ECONNRESET', { status: 200 }).detail).toBe(
    'answered 200 OK, but the connection was closed before the end of the body',
  );
});
