import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { invalidFields } from '../../../src/platform/rpc/rpc-error.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { post, send, startFacadeOverRpc } from './facade-over-rpc.ts';
import { shared } from '../../support/shared-stack.ts';
import type { StartDirectPaymentRequest } from '../../../src/gen/gatehouse/v1/order_service_pb.js';

const getOrder = (): never => {
  throw rpcError('ORDER_NOT_FOUND', 'unknown');
};
const facade = shared(() => startFacadeOverRpc({ orders: { getOrder } }));

const notFound = { code: 404, message: 'Not found' };
const withDetail = (field: string, issue: string) => ({ ...notFound, details: [{ field, issue }] });
const noSuchPath = withDetail(
  'path',
  'does not exist; send exactly a path of the API reference, such as /api/v1/register',
);
const unknownMethod = withDetail('method', 'must be one that the path supports');

/** Sends bytes unchanged, and returns everything that arrives until the server closes the connection. */
async function raw(
  request: string,
  { end = false } = {},
): Promise<{ status: number; head: string; json: unknown }> {
  const socket = connect(Number(new URL(facade.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(request.replace(/\n/g, '\r\n'));
  if (end) socket.end();
  const answer = await text(socket);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return {
    status: Number(head.split(' ')[1]),
    head: head.toLowerCase(),
    json: body === '' ? undefined : JSON.parse(body),
  };
}

describe('404 comes before every other check', () => {
  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'QUERY'])(
    'for %s on a merchant endpoint',
    async (method) => {
      for (const path of ['/api/v1/register', '/api/v1/direct', '/api/v1/verify', '/payment/v1/direct']) {
        const answer = await send(facade.url + path, { method });
        expect(answer.status).toBe(404);
        if (method !== 'HEAD') expect(answer.json).toEqual(withDetail('method', 'must be POST'));
      }
    },
  );

  test.each(['/healthz', '/readyz', '/openapi.json', '/docs'])('for POST %s', async (path) => {
    const { status, json } = await post(facade.url + path, '{}');
    expect({ status, json }).toEqual({ status: 404, json: withDetail('method', 'must be GET') });
  });

  test.each([
    '/',
    '/api/v1/register/',
    '/api/v1/Register',
    '/API/v1/register',
    '/api//v1/register',
    '/api/v2/register',
    '/api/v1/register;x=1',
    '/api/v1/register%2F',
    '/api/v1/%72egister',
    '/api/v1/verif%79',
    '/%61pi/v1/direct?payment_option=walleta_ussd',
    '//[',
    `/docs/static/${'a'.repeat(300)}`,
    '/api/v1/orders',
    '/api/v1/%zz',
    '/api/v1/%ff%fe',
    '/docs/static/no-such-file',
    '/docs/static/..%2f..%2fpackage.json',
  ])('for POST %s', async (path) => {
    const { status, json } = await post(facade.url + path, '{"broken');
    expect(status).toBe(404);
    expect(json).toEqual(noSuchPath);
  });

  test.each(['CONNECT example.com:443', 'BREW /api/v1/verify'])('for %s', async (line) => {
    const { status, json } = await raw(`${line} HTTP/1.1\nHost: a\n\n`);
    expect({ status, json }).toEqual({ status: 404, json: unknownMethod });
  });
});

describe('401 comes before 400', () => {
  test.each([
    ['broken JSON', '{"order_number', 'application/json'],
    ['the wrong content type', 'a=1', 'application/x-www-form-urlencoded'],
    ['too large a body', 'x'.repeat(1_000_000), 'application/json'],
  ])('for %s without a key', async (_name, body, type) => {
    const answer = await send(`${facade.url}/api/v1/verify`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    expect(answer.json).toEqual({
      code: 401,
      message: 'Unauthorized',
      details: [{ field: 'apiKey', issue: 'is required: send your API key in the header apiKey' }],
    });
  });
});

describe('a request that violates HTTP is answered in the JSON envelope', () => {
  test.each([
    ['something other than HTTP', 'hello\n\n', 404],
    ['headers without end', `POST /api/v1/verify HTTP/1.1\nHost: a\nX: ${'x'.repeat(20_000)}\n\n`, 431],
    ['no Host', 'POST /api/v1/verify HTTP/1.1\n\n', 400],
    ['two Hosts', 'POST /api/v1/verify HTTP/1.1\nHost: a\nHost: b\n\n', 400],
    ['two Hosts at a path that does not exist', 'POST /nowhere HTTP/1.1\nHost: a\nhost: a\n\n', 400],
    ['an invalid Host', 'POST /api/v1/verify HTTP/1.1\nHost: a/b\n\n', 400],
    [
      'a transfer coding besides chunked',
      'POST /api/v1/verify HTTP/1.1\nHost: a\nTransfer-Encoding: gzip, chunked\n\n0\n\n',
      400,
    ],
    [
      'a transfer coding that is unknown',
      'POST /api/v1/verify HTTP/1.1\nHost: a\nTransfer-Encoding: gzip\n\n',
      400,
    ],
  ])('%s', async (_name, request, expected) => {
    const { status, head, json } = await raw(request);
    expect(status).toBe(expected);
    expect(json).toMatchObject({ code: expected, message: expect.any(String) });
    expect(head).toContain('content-type: application/json; charset=utf-8');
    expect(head).toMatch(/x-request-id: \S+/);
    expect(head).toContain('connection: close');
  });

  const post = 'POST /api/v1/verify HTTP/1.1\nHost: a\napiKey: k\nContent-Type: application/json\n';
  test.each([
    ['a body that is cut off', `${post}Content-Length: 9\n\n{`, 'request', 'completely'],
    ['a head that is cut off', post, 'request', 'completely'],
    ['a chunk without a size', `${post}Transfer-Encoding: chunked\n\nzz\n`, 'body', 'size'],
    ['a length that is not a number', `${post}Content-Length: x\n\n`, 'Content-Length', 'number of bytes'],
    ['a chunk of another size', `${post}Transfer-Encoding: chunked\n\n1\n{}\n0\n\n`, 'body', 'size'],
    ['HTTP/2', 'PRI * HTTP/2.0\n\nSM\n\n', 'request', 'HTTP/1.1: HTTP/2 is not supported'],
    ['HTTP/3', 'POST /api/v1/verify HTTP/3.0\nHost: a\n\n', 'request', 'HTTP/1.1 or HTTP/1.0'],
    [
      'HTTP/2 in the first line',
      'POST /api/v1/verify HTTP/2.0\nHost: a\n\n',
      'request',
      'HTTP/1.1 or HTTP/1.0',
    ],
    ['HTTP/0.9', 'POST /api/v1/verify HTTP/0.9\nHost: a\n\n', 'request', 'HTTP/1.1 or HTTP/1.0'],
    ['a fragment', 'POST /api/v1/verify#x HTTP/1.1\nHost: a\n\n', 'request', 'without #'],
    ['a space in the path', 'POST /api/v1/verify x HTTP/1.1\nHost: a\n\n', 'request', 'without spaces'],
    ['a path with other letters', 'POST /api/v1/ሰ HTTP/1.1\nHost: a\n\n', 'request', 'percent-encoded'],
    ['a header without a name', `${post}: x\n\n`, 'headers', 'a name, a colon and a value'],
    ['a header of two lines', `${post}X: a\n b\n\n`, 'headers', 'one line'],
    ['a line break inside a header', `${post}X: a\rb\n\n`, 'headers', 'CR LF'],
    ['a control character', `${post}X: a\0b\n\n`, 'headers', 'control characters'],
    ['two lengths', `${post}Content-Length: 2\nContent-Length: 1\n\n`, 'Content-Length', 'only header'],
    [
      'chunks in HTTP/1.0',
      'POST / HTTP/1.0\nConnection: keep-alive\nTransfer-Encoding: chunked\n\n0\n\n',
      'Transfer-Encoding',
      'left out in HTTP/1.0',
    ],
    [
      'both Content-Length and Transfer-Encoding',
      `${post}Content-Length: 2\nTransfer-Encoding: chunked\n\n`,
      'Transfer-Encoding',
      'only header',
    ],
    [
      'both Transfer-Encoding and Content-Length',
      `${post}Transfer-Encoding: chunked\nContent-Length: 2\n\n`,
      'Content-Length',
      'only header',
    ],
  ])('the answer to %s says what to do', async (_name, request, field, text) => {
    const { status, head, json } = await raw(request, { end: true });
    expect(status).toBe(400);
    expect(head).toContain('content-type: application/json; charset=utf-8');
    expect(json).toEqual({
      code: 400,
      message: 'Bad request',
      details: [{ field, issue: expect.stringContaining(text) }],
    });
  });

  test('a head whose lines end in LF alone is told to end them with CR LF', async () => {
    const socket = connect(Number(new URL(facade.url).port), '127.0.0.1');
    socket.end('POST /api/v1/verify HTTP/1.1\nHost: a\n\n');
    expect(await text(socket)).toContain('CR LF');
  });

  test('a request that is answered before its body gets no second answer when the body is wrong', async () => {
    const socket = connect(Number(new URL(facade.url).port), '127.0.0.1');
    const received: Buffer[] = [];
    socket.on('data', (part: Buffer) => received.push(part));
    const closed = once(socket, 'close');
    socket.write(
      post.replace('apiKey: k\n', '').concat('Transfer-Encoding: chunked\n\n').replace(/\n/g, '\r\n'),
    );
    await waitUntil('the answer', () => received.length > 0);
    socket.write('zz\r\n');
    await closed;
    expect(
      Buffer.concat(received)
        .toString()
        .match(/HTTP\/1\.1 \d+/g),
    ).toEqual(['HTTP/1.1 401']);
  });

  test('an answer that is on its way is sent, and is followed by none to a request that violates HTTP', async () => {
    const body = '{"order_number":"O-1"}';
    const { status, json } = await raw(
      `${post}Content-Length: ${body.length}\n\n${body}POST / HTTP/1.1\n: x\n\n`,
    );
    expect(status).toBe(404);
    expect(json).toEqual(notFound);
  });

  test('an unknown Expect header is ignored', async () => {
    const { status } = await raw(
      'POST /api/v1/verify HTTP/1.1\nHost: a\nExpect: something\nConnection: close\nContent-Length: 0\n\n',
    );
    expect(status).toBe(401);
  });
});

describe('a connection', () => {
  test('that begins TLS has a line in the log that says so', async () => {
    const socket = connectTls({ port: Number(new URL(facade.url).port), host: '127.0.0.1' });
    await once(socket, 'error');

    const line = await waitUntil('the connection is logged', () =>
      facade.log.find(({ reason }) => reason === 'TLS_ON_HTTP_PORT'),
    );
    expect(line).toMatchObject({ msg: 'not a valid HTTP request' });
  });

  test('closes after the answer to its 10,000th request, and answers none that follows', async () => {
    const socket = connect(Number(new URL(facade.url).port), '127.0.0.1');
    const closed = once(socket, 'close');
    let received = '';
    socket.setEncoding('latin1').on('data', (part: string) => (received += part));
    const answers = () => received.split('HTTP/1.1 404 Not Found\r\n').slice(1);
    const request = 'GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n';
    socket.write(request.repeat(9_999));
    await waitUntil('9,999 answers', () => answers().length === 9_999);
    expect(received).not.toMatch(/connection: close/i);

    socket.write(request.repeat(3));
    await closed;

    expect(answers()).toHaveLength(10_000);
    expect(answers().at(-1)).toMatch(/connection: close[^]+"message":"Not found",.*\}$/i);
  });

  /** Sends a head that announces a body, and after the first answer what a proxy might send next. Returns all that it receives. */
  const answersTo = async (head: string, body: string, next: string): Promise<string> => {
    const socket = connect(Number(new URL(facade.url).port), '127.0.0.1');
    const closed = once(socket, 'close');
    let received = '';
    socket.setEncoding('latin1').on('data', (part: string) => (received += part));
    socket.on('error', () => undefined);
    socket.write(head.replace(/\n/g, '\r\n') + body);
    await waitUntil('the first answer', () => received.endsWith('}'));
    socket.end(next.replace(/\n/g, '\r\n'));
    await closed;
    return received;
  };
  const following = 'GET /nowhere HTTP/1.1\nHost: a\nConnection: close\n\n';

  test.each([
    ['of a known length', 'Content-Length: 2000'],
    ['in chunks', 'Transfer-Encoding: chunked'],
  ])(
    'that is answered before a body %s closes, and reads no request in place of the body',
    async (_name, header) => {
      const received = await answersTo(`POST /nowhere HTTP/1.1\nHost: a\n${header}\n\n`, '', following);

      expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404']);
      expect(received).toMatch(/connection: close/i);
    },
  );

  test('that brings the body with its head stays open when the request is refused', async () => {
    const received = await answersTo(
      'POST /nowhere HTTP/1.1\nHost: a\nContent-Length: 2000\n\n',
      'x'.repeat(2_000),
      following,
    );

    expect(received.toLowerCase().match(/http\/1\.1 \d+|connection: close/g)).toEqual([
      'http/1.1 404',
      'http/1.1 404',
      'connection: close',
    ]);
  });

  test('has the time limits of the documentation', () => {
    const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = facade.app.server;

    const limits = [headersTimeout, requestTimeout, keepAliveTimeout, timeout];
    expect(limits).toEqual([5_000, 10_000, 65_000, 90_000]);
  });

  test('closes when its client does not read the answers', async () => {
    const { server } = facade.app;
    const { timeout } = server;
    // Only shorter: 0 would be no limit.
    server.timeout = Math.min(timeout, 100);
    const connected = once(server, 'connection');
    const client = connect(Number(new URL(facade.url).port), '127.0.0.1').on('error', () => undefined);
    const [connection] = (await connected) as [Socket];
    try {
      client.write('GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(200));
      await once(connection, 'close', { signal: AbortSignal.timeout(30_000) });
    } finally {
      server.timeout = timeout;
      connection.destroy();
      client.destroy();
    }
  });
});

describe('the body', () => {
  const verify = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    post(`${facade.url}/api/v1/verify`, body, headers);
  const good = '{"order_number":"INV-1"}';

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'Application/JSON; Charset="utf-8"',
    'application/json;',
  ])('is accepted as %s', async (type) => {
    expect((await verify(good, { 'content-type': type })).status).toBe(404);
  });

  test.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/vnd.api+json',
    'application/json, text/plain',
    'application/',
    ',',
    'x',
  ])('is refused as %s', async (type) => {
    expect((await verify(good, { 'content-type': type })).json).toEqual({
      code: 400,
      message: 'Bad request',
      details: [{ field: 'Content-Type', issue: 'must be application/json' }],
    });
  });

  test.each([
    'application/json; charset=latin1',
    'Application/JSON;charset=utf-16',
    'application/json; charset=utf-8; v=1',
    'application/json;odata=verbose',
  ])('is refused as %s, with the parameter that it may have', async (type) => {
    expect((await verify(good, { 'content-type': type })).json).toMatchObject({
      code: 400,
      details: [
        {
          field: 'Content-Type',
          issue: 'must have no parameter but charset=utf-8; send the body in UTF-8',
        },
      ],
    });
  });

  test('is refused without a content type', async () => {
    const body = new TextEncoder().encode(good);
    const answer = await send(`${facade.url}/api/v1/verify`, {
      method: 'POST',
      headers: { apiKey: 'k' },
      body,
    });
    expect(answer.json).toMatchObject({ details: [{ field: 'Content-Type' }] });
  });

  test('is refused when compressed', async () => {
    expect((await verify(good, { 'content-encoding': 'gzip' })).json).toMatchObject({
      code: 400,
      details: [{ field: 'Content-Encoding', issue: 'must not be set; send the body uncompressed' }],
    });
  });

  test('may have 32 KiB and not a byte more', async () => {
    const padded = (size: number): string => good + ' '.repeat(size - good.length);
    expect((await verify(padded(32_768))).status).toBe(404);
    expect((await verify(padded(32_769))).json).toEqual({
      code: 400,
      message: 'Bad request',
      details: [{ field: 'body', issue: 'must be at most 32768 bytes' }],
    });
  });

  test('of 1 MB is refused, and the connection can be used again', async () => {
    for (let i = 0; i < 5; i++) {
      expect((await verify('x'.repeat(1_000_000))).json).toMatchObject({ details: [{ field: 'body' }] });
      expect((await verify(good)).status).toBe(404);
    }
  });

  test('that is streamed without a length has the same limit', async () => {
    async function* chunks() {
      for (let i = 0; i < 100; i++) yield new TextEncoder().encode(' '.repeat(1_000));
    }
    const answer = await send(`${facade.url}/api/v1/verify`, {
      method: 'POST',
      headers: { apiKey: 'k', 'content-type': 'application/json' },
      body: ReadableStream.from(chunks()),
      duplex: 'half',
    });
    expect(answer.json).toMatchObject({ code: 400, details: [{ field: 'body' }] });
  });

  test('that is missing gets an answer that names the required fields', async () => {
    const answer = await send(`${facade.url}/api/v1/verify`, { method: 'POST', headers: { apiKey: 'k' } });
    expect(answer.json).toEqual({
      code: 400,
      message: 'Bad request',
      details: [{ field: 'order_number', issue: 'is required' }],
    });
  });

  test('gets no field from the query string', async () => {
    const answer = await post(`${facade.url}/api/v1/verify?order_number=INV-1&__proto__=1`, '{}');
    expect(answer.json).toMatchObject({ details: [{ field: 'order_number', issue: 'is required' }] });
  });

  test('with inherited property names does not count as having these fields', async () => {
    expect((await verify('{"constructor":{"order_number":"INV-1"}}')).json).toMatchObject({
      details: [{ field: 'order_number', issue: 'is required' }],
    });
  });
});

describe('payment_option', () => {
  /** Core knows the options, and reports an invalid one. */
  const startDirectPayment = ({ paymentOption }: StartDirectPaymentRequest): never => {
    throw invalidFields([{ field: 'payment_option', issue: `is [${paymentOption}]` }]);
  };
  const own = shared(() => startFacadeOverRpc({ orders: { startDirectPayment } }));
  const order = { order_number: 'A-1', amount: '1', currency: 'ETB', phone: '0911223344' };
  const direct = (query: string, body: object | string) => post(`${own.url}/api/v1/direct${query}`, body);
  const problem = async (query: string): Promise<unknown> => (await direct(query, '[]')).json;
  const refused = (issue: string) => ({
    code: 400,
    message: 'Invalid request parameters',
    details: [
      { field: 'payment_option', issue },
      { field: 'body', issue: 'must be a JSON object' },
    ],
  });

  test.each(['', '?', '?payment_option', '?payment_option=', '?Payment_Option=walleta_ussd', '?other=1'])(
    'is refused when it is missing or empty: %s',
    async (query) => {
      expect(await problem(query)).toEqual(refused('is required, such as walleta_ussd'));
      expect((await direct(query, order)).json).toMatchObject({ details: [{ issue: 'is []' }] });
    },
  );

  test('in the body is refused with its right place', async () => {
    const { status, json } = await direct('', { ...order, payment_option: 'walleta_ussd' });
    expect([status, json]).toMatchObject([
      400,
      { details: [{ field: 'payment_option', issue: expect.stringContaining('belongs in the query') }] },
    ]);
  });

  test.each([
    'walleta_wallet',
    'WALLETA_USSD',
    ' walleta_ussd',
    'toString',
    '__proto__',
    '%00',
    'walleta_ussd%20',
    'x'.repeat(64),
  ])('is checked by core together with the body when it is unknown: %s', async (value) => {
    const query = `?payment_option=${value}`;
    const issue = `is [${decodeURIComponent(value)}]`;
    expect((await direct(query, order)).json).toMatchObject({
      details: [{ field: 'payment_option', issue }],
    });
    expect(await problem(query)).toEqual(
      refused('must be the id of a wallet with _ussd, such as walleta_ussd'),
    );
  });

  test('is refused when it is given twice', async () => {
    expect(await problem('?payment_option=walleta_ussd&payment_option=walleta_ussd')).toEqual(
      refused('must be given once'),
    );
  });

  test('is accepted among other parameters', async () => {
    expect(await problem('?a=1&payment_option=walletb_ussd&b=%zz')).toMatchObject({
      details: [{ field: 'body' }],
    });
  });
});

describe('every reply', () => {
  test.each(['/healthz', '/openapi.json', '/docs', '/nowhere', '/%zz'])(
    '%s has the safe headers',
    async (path) => {
      const { headers } = await send(facade.url + path);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.has('x-powered-by')).toBe(false);
      expect(headers.has('server')).toBe(false);
      expect(headers.has('access-control-allow-origin')).toBe(false);
      expect(headers.has('strict-transport-security')).toBe(false);
    },
  );

  test.each(['/healthz', '/nowhere', '/%zz', '/api/v1/verify'])(
    '%s carries the request id that was sent',
    async (path) => {
      const { headers } = await send(facade.url + path, { headers: { 'x-request-id': 'shop-42.a_B' } });
      expect(headers.get('x-request-id')).toBe('shop-42.a_B');
    },
  );

  test.each(['', 'a b', 'a/b', 'x'.repeat(65), 'é'])('has a new id instead of "%s"', async (id) => {
    const { headers } = await send(`${facade.url}/healthz`, { headers: { 'x-request-id': id } });
    expect(headers.get('x-request-id')).toMatch(/^request-\d+$/);
  });
});
