import { afterEach, describe, expect, test } from '@jest/globals';
import type { WebhookSenderOptions } from '../../../src/webhooks/sending/send-webhook.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sendTo, sendingDesk } from './outgoing.ts';
import type { Behaviour } from './receivers.ts';
import {
  answer,
  byteByByte,
  refusingPort,
  dripping,
  endless,
  gzipBomb,
  raw,
  relentless,
  reset,
  silence,
  silenceAfterHeaders,
  startTcpServer,
} from './receivers.ts';

const { openSender, openReceiver, closeLater, close } = sendingDesk();
afterEach(close);

/** One webhook to a receiver with this behaviour. */
async function sendOnce(behaviour: Behaviour, over?: Partial<WebhookSenderOptions>) {
  const receiver = await openReceiver(behaviour);
  return sendTo(openSender(over), `${receiver.origin}/hook?shop=1`);
}

/** Time limits that are short enough for a test, and long enough for a busy machine when nothing hangs. */
const impatient = { totalMs: 1_500, connectMs: 1_000 };

describe('answers', () => {
  test.each([
    ['200', answer(200, {}, '{"ok":true}')],
    ['200 without a body', answer(200)],
    ['201', answer(201)],
    ['202', answer(202)],
    ['204', answer(204)],
    ['299', answer(299)],
    ['200 with an error page', answer(200, { 'content-type': 'text/html' }, '<h1>Fatal error</h1>')],
    ['200 without a length, ended by closing', raw('HTTP/1.0 200 OK\r\n\r\nthanks')],
    [
      '200 after 103',
      raw('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
    ],
    ['200 with an invalid gzip body', answer(200, { 'content-encoding': 'gzip' }, 'not zipped')],
    ['200 with a body that has no end', endless()],
    ['200 with a gzip bomb', gzipBomb],
    [
      '200 with more bytes than its length says',
      raw('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n'),
    ],
    ['200 with chunks', raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n')],
    ['200 with a hundred cookies', answer(200, { 'set-cookie': 'a=b; '.repeat(100) })],
  ])('%s counts as delivered', async (_name, behaviour) => {
    const report = await sendOnce(behaviour);

    expect(report).toMatchObject({ result: 'DELIVERED', detail: '', remoteAddress: '127.0.0.1' });
    expect(Math.floor(report.statusCode / 100)).toBe(2);
  });

  test.each([
    [400, 'answered 400 Bad Request; only 2xx counts as received'],
    [
      401,
      'answered 401 Unauthorized; only 2xx counts as received: the URL must accept webhooks without a login',
    ],
    [403, 'Check for a firewall or bot filter'],
    [404, 'check the path of the URL'],
    [405, 'the URL must accept POST'],
    [418, "answered 418 I'm a Teapot; only 2xx counts as received"],
    [500, 'answered 500 Internal Server Error; only 2xx counts as received'],
    [599, 'answered 599; only 2xx counts as received'],
    [304, 'answered 304 Not Modified; only 2xx counts as received'],
  ])('%i is refused, and the explanation says what to do', async (status, detail) => {
    const report = await sendOnce(answer(status));

    expect(report).toMatchObject({ result: 'REFUSED', statusCode: status, remoteAddress: '127.0.0.1' });
    expect(report.detail).toContain(detail);
  });

  test('410 is reported as GONE', async () => {
    const report = await sendOnce(answer(410, {}, 'no longer here'));

    expect(report).toMatchObject({ result: 'GONE', statusCode: 410 });
    expect(report.detail).toBe(
      'answered 410 Gone: nothing more is sent to this host or webhook endpoint until it is resumed',
    );
  });

  test.each([
    ...['1', '259200', 'Wed, 21 Oct 2026 07:28:00 GMT', 'when it suits you'].map((sent) => [sent, sent]),
    ['9'.repeat(10_000), '9'.repeat(128)],
  ])(
    '429 with Retry-After %j is refused, and the beginning of the header is kept as sent',
    async (sent, kept) => {
      const report = await sendOnce(answer(429, { 'retry-after': sent }));

      expect(report).toMatchObject({ result: 'REFUSED', statusCode: 429, retryAfter: kept });
    },
  );

  test('the first 2 kB of the body are kept, byte for byte', async () => {
    const page = Buffer.alloc(5_000, 'ሦስት\0\xff', 'latin1');

    const report = await sendOnce(answer(500, {}, page));

    expect(report.responseBody).toEqual(page.subarray(0, 2_048));
  });

  test('a compressed body is not decompressed', async () => {
    const report = await sendOnce(gzipBomb);

    expect(report.responseBody.subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
    expect(report.responseBody).toHaveLength(2_048);
  });

  test('a refusal whose body never ends is still a refusal', async () => {
    const report = await sendOnce(endless(503));

    expect(report).toMatchObject({ result: 'REFUSED', statusCode: 503 });
  });
});

describe('redirects', () => {
  test.each([301, 302, 303, 307, 308])('%i is not followed', async (status) => {
    const elsewhere = await openReceiver();
    const receiver = await openReceiver(answer(status, { location: `${elsewhere.origin}/secret` }));

    const report = await sendTo(openSender(), `${receiver.origin}/hook`);

    expect(report).toMatchObject({ result: 'REFUSED', statusCode: status });
    expect(report.detail).toContain(
      `a redirect to ${elsewhere.origin}; redirects are not followed: use the final URL`,
    );
    expect(elsewhere.connectionCount()).toBe(0);
  });

  test.each([
    ['http://127.0.0.1:8080/admin?token=s3cret', 'http://127.0.0.1:8080;'],
    ['https://www.shop.example/hook?shop=1', 'the same path at https://www.shop.example;'],
    ['/hook/?shop=1', 'the same path with a slash at its end;'],
    ['/login?next=s3cret', 'another path of the same host;'],
    ['/hook?shop=1', 'itself;'],
    ['//evil.example', 'http://evil.example;'],
    ['file:///etc/passwd', 'a file: URL;'],
    ['http://[', 'an invalid URL;'],
    [`http://${'a'.repeat(300)}.example/`, 'an invalid URL;'],
    [`${'a'.repeat(300)}:nothing`, 'an invalid URL;'],
  ])('the detail describes the target %s, without path and query', async (location, words) => {
    const report = await sendOnce(answer(302, { location }));

    expect(report.detail).toContain(`answered 302 Found, a redirect to ${words}`);
    expect(report.detail).not.toContain('s3cret');
  });
});

describe('broken answers', () => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
  const manyHeaders = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`x-${n}`, 'a'.repeat(40)]));
  const noAnswer = 'closed the connection without a usable response';
  const broken = 'but the connection was closed before the end of the body';
  const afterLength =
    'is not HTTP/1.1: after Content-Length it has an invalid header, a second Content-Length, or Transfer-Encoding';
  test.each([
    ['a reset instead of an answer', reset(), 0, noAnswer],
    ['a close instead of an answer', raw(''), 0, noAnswer],
    ['a reset in the headers', reset(`${ok}content-`), 0, noAnswer],
    ['a reset after the headers', reset(`${ok}content-length: 9\r\n\r\n`), 200, `answered 200 OK, ${broken}`],
    ['half a body', raw(`${ok}content-length: 9\r\n\r\n{"half":`), 200, `answered 200 OK, ${broken}`],
    [
      'a 410 that breaks off, which ends nothing',
      reset('HTTP/1.1 410 Gone\r\ncontent-length: 100\r\n\r\n'),
      410,
      `answered 410 Gone, ${broken}`,
    ],
    ['headers of 64 KiB', answer(200, { 'x-long': 'x'.repeat(64 * 1024) }), 0, 'larger than 16 KiB'],
    ['a thousand headers', answer(200, manyHeaders), 0, 'larger than 16 KiB'],
    ['HTTP/0.9', raw('<html>hello</html>'), 0, 'is not HTTP'],
    ['another protocol', raw('SSH-2.0-OpenSSH_9.2\r\n'), 0, 'is not HTTP'],
    ['zeros', raw(Buffer.alloc(1_000)), 0, 'is not HTTP'],
    ['a status that is not a number', raw('HTTP/1.1 abc OK\r\n\r\n'), 0, 'is not HTTP'],
    ['a header without a name', raw(`${ok}: x\r\n\r\n`), 0, 'is not HTTP/1.1: Invalid header token'],
    ['lines without CR', raw('HTTP/1.1 200 OK\n\n'), 0, 'is not HTTP/1.1: Missing expected CR'],
    ['two lengths', raw(`${ok}content-length: 2\r\ncontent-length: 3\r\n\r\nok`), 0, afterLength],
    [
      'a length and chunks',
      raw(`${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`),
      0,
      afterLength,
    ],
    [
      'chunks and a length',
      raw(`${ok}transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n`),
      0,
      "is not HTTP/1.1: Content-Length can't be present with Transfer-Encoding",
    ],
    ['an invalid header after the length', raw(`${ok}content-length: 2\r\nx : y\r\n\r\nok`), 0, afterLength],
    ['a length below zero', raw(`${ok}content-length: -2\r\n\r\nok`), 0, ''],
    ['invalid chunks', raw(`${chunked}nonsense`), 200, 'answered 200 OK, but the response of'],
    ['chunks that stop', raw(`${chunked}5\r\nab`), 200, 'answered 200 OK, but '],
    [
      'an upgrade',
      raw('HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
      0,
      'answered 101 Switching Protocols',
    ],
    ['101 without an upgrade', raw('HTTP/1.1 101 X\r\n\r\n'), 0, 'is not HTTP'],
    ['a status below 100', raw('HTTP/1.1 000 X\r\ncontent-length: 0\r\n\r\n'), 0, 'is not HTTP'],
    ['HTTP/2', raw(Buffer.from('000000040000000000', 'hex')), 0, 'speaks HTTP/2 only'],
    [
      'endless trailers',
      raw(`${chunked}0\r\n${`x-t: ${'t'.repeat(60)}\r\n`.repeat(400)}`),
      200,
      'answered 200 OK, but the trailers after its body are larger than 16 KiB',
    ],
    ['100 and then nothing', raw('HTTP/1.1 100 Continue\r\n\r\n'), 0, 'answered 100 Continue'],
  ])(
    '%s gives no usable answer, and the result has the reason',
    async (_name, behaviour, statusCode, detail) => {
      const report = await sendOnce(behaviour);

      const isUnreadable = /is not HTTP|are larger|Content-Length|answered 10\d/.test(report.detail);
      const result = isUnreadable ? 'UNREADABLE' : 'CONNECTION_FAILED';
      expect(report).toMatchObject({ result, statusCode, remoteAddress: '127.0.0.1' });
      expect(report.detail).toContain(detail);
      expect(report.detail).not.toContain('/hook');
    },
  );
});

describe('receivers that never stop sending', () => {
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const noHeaders = 'sent 256 KiB before its response headers ended';

  test.each([
    ['informational responses', '', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'UNREADABLE', 0],
    ['blank lines', '', '\r\n', 'UNREADABLE', 0],
    ['a reason phrase', 'HTTP/1.1 200 ', 'a', 'UNREADABLE', 0],
    ['spaces before the value of a header', 'HTTP/1.1 200 OK\r\nx-long: ', ' ', 'UNREADABLE', 0],
    ['a chunk extension', `${chunked}1;`, 'a', 'DELIVERED', 200],
    ['the zeros of a chunk size', chunked, '0', 'DELIVERED', 200],
  ])('%s are read up to a limit', async (_name, start, more, result, statusCode) => {
    const sent = { bytes: 0 };

    const report = await sendOnce(relentless(start, more, sent), { totalMs: 5_000 });

    expect(report).toMatchObject({ result, statusCode });
    expect(report.detail).toContain(result === 'UNREADABLE' ? noHeaders : '');
    // The kernel's buffers on both sides take bytes that nobody reads.
    expect(sent.bytes).toBeLessThan(32 * 1024 * 1024);
  });

  test('an idle connection on which blank lines arrive is closed', async () => {
    const sent = { bytes: 0 };
    const receiver = await openReceiver(
      relentless('HTTP/1.1 204 No Content\r\nkeep-alive: timeout=30\r\n\r\n', '\r\n', sent),
    );

    const report = await sendTo(openSender(), receiver.origin);

    expect(report.result).toBe('DELIVERED');
    await waitUntil('the connection is closed', () => receiver.openConnectionCount() === 0, 10_000);
    expect(sent.bytes).toBeLessThan(32 * 1024 * 1024);
  });
});

describe('slow receivers', () => {
  const noResponse =
    'no response within 1.5 s: answer 2xx as soon as the webhook is stored, and process it afterwards';
  test.each<[string, Behaviour, number, string]>([
    ['no answer', silence, 0, noResponse],
    ['informational answers without end', dripping('', 'HTTP/1.1 102 Processing\r\n\r\n'), 0, noResponse],
    ['headers without end', dripping('HTTP/1.1 200 OK\r\nx-long: ', 'x'), 0, noResponse],
    ['no body', silenceAfterHeaders(), 200, 'answered 200 OK, but its body did not end within 1.5 s'],
  ])('a receiver with %s times out', async (_name, behaviour, statusCode, detail) => {
    const report = await sendOnce(behaviour, impatient);

    expect(report).toMatchObject({ result: 'TIMED_OUT', statusCode, detail, remoteAddress: '127.0.0.1' });
  });

  test('a body that arrives byte by byte times out, and the received part is kept', async () => {
    const report = await sendOnce(byteByByte, impatient);

    expect(report).toMatchObject({ result: 'TIMED_OUT', statusCode: 200 });
    expect(report.responseBody.toString()).toMatch(/^ +$/);
  });

  test('a server that accepts connections without TLS is reported as TLS_FAILED', async () => {
    const server = await startTcpServer(() => {});
    closeLater(server.close);

    const report = await sendTo(openSender(impatient), `https://127.0.0.1:${server.port}/hook`);

    expect(report).toMatchObject({ result: 'TLS_FAILED', statusCode: 0, remoteAddress: '' });
    expect(report.detail).toBe(`127.0.0.1:${server.port} did not complete the TLS handshake within 1 s`);
  });

  test('name servers that do not answer are reported as NAME_NOT_RESOLVED', async () => {
    const sender = openSender({ ...impatient, resolve: () => new Promise(() => {}) });

    const report = await sendTo(sender, 'https://shop.example/hook');

    expect(report).toMatchObject({ result: 'NAME_NOT_RESOLVED', remoteAddress: '' });
    expect(report.detail).toBe('the DNS lookup of shop.example did not finish within 1 s');
  });

  test('a connection whose attempt timed out is not used again', async () => {
    const receiver = await openReceiver(silence);
    const sender = openSender(impatient);
    await sendTo(sender, receiver.origin);
    receiver.behave(answer(204));

    const report = await sendTo(sender, receiver.origin);

    expect(report.result).toBe('DELIVERED');
    expect(receiver.connectionCount()).toBe(2);
  });
});

describe('a missing receiver is reported:', () => {
  test('a port without a listener', async () => {
    const port = refusingPort;

    const report = await sendTo(openSender(), `http://127.0.0.1:${port}/hook`);

    expect(report).toMatchObject({ result: 'CONNECTION_FAILED', statusCode: 0, remoteAddress: '' });
    expect(report.detail).toBe(
      `127.0.0.1:${port} refused the connection: nothing listens on that port, or a firewall rejects connections`,
    );
  });

  test('a name whose every address refuses', async () => {
    const port = refusingPort;
    const sender = openSender({ resolve: async () => ['127.0.0.1', '127.0.0.2', '::1'] });

    const report = await sendTo(sender, `http://shop.example:${port}/hook`);

    expect(report.result).toBe('CONNECTION_FAILED');
    expect(report.detail).toContain(`shop.example:${port} refused the connection`);
  });

  test('a name that does not exist, resolved by real name servers', async () => {
    const report = await sendTo(openSender(), 'https://shop.invalid/hook');

    expect(report).toMatchObject({ result: 'NAME_NOT_RESOLVED', statusCode: 0, remoteAddress: '' });
    expect(report.detail).toContain('shop.invalid');
  });

  test('a name whose lookup fails', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('query failed'), { code: 'ESERVFAIL' }));

    const report = await sendTo(openSender({ resolve }), 'https://shop.example/hook');

    const detail = 'the DNS lookup of shop.example failed (ESERVFAIL)';
    expect(report).toMatchObject({ result: 'NAME_NOT_RESOLVED', detail });
  });
});
