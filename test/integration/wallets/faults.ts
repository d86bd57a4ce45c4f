import { gzipSync } from 'node:zlib';
import { relentless } from '../webhooks/receivers.ts';
import type { Behaviour } from './scripted-wallet.ts';
import { answer, json, raw } from './scripted-wallet.ts';

/** An answer of a wallet that decides nothing. */
export interface Fault {
  readonly name: string;
  /**
   * `status` is the status of a good answer, and `body` its body, or undefined for none. Some faults are only in
   * these.
   */
  readonly behave: (good: { readonly status: number; readonly body: unknown }) => Behaviour;
  /** The answer never ends; the caller must give up. */
  readonly endless?: true;
  /** This fault is the good answer of calls without a body, so it proves nothing there. */
  readonly needsBody?: true;
}

/** The good body in the form in which it is sent. */
const textOf = (body: unknown): string => (body === undefined ? '' : JSON.stringify(body));

const oneByteEveryTurn: Behaviour = ({ socket }) => {
  socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n');
  const drip = setInterval(() => socket.write(' '), 5);
  socket.on('close', () => clearInterval(drip));
};

const reset =
  (before: string): Behaviour =>
  ({ socket }) => {
    if (before === '') socket.resetAndDestroy();
    else socket.write(before, () => socket.resetAndDestroy());
  };

const headersOf = (status: number, more: string): string =>
  `HTTP/1.1 ${status} Whatever\r\ncontent-type: application/json\r\n${more}\r\n`;

/** The good answer followed by blanks, far beyond any limit, written as fast as it is read. */
const tenMegabytes =
  (status: number, body: unknown): Behaviour =>
  ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.write(textOf(body) || ' ');
    const blanks = Buffer.alloc(64 * 1024, ' ');
    let left = 160;
    const pour = () => {
      while (left > 0) {
        left -= 1;
        if (!response.write(blanks)) {
          response.once('drain', pour);
          return;
        }
      }
      response.end();
    };
    pour();
  };

/** Some servers do this in a debug mode. */
const echo: Behaviour = ({ response, request }) => {
  response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(request));
};

/** Known faults of wallets, and of proxies before them, in place of an answer. */
export const faults: readonly Fault[] = [
  { name: 'a web page', behave: ({ status }) => answer(status, 'text/html', '<html>Welcome</html>') },
  { name: 'a web page about a bad gateway', behave: () => answer(502, 'text/html', '<html>502</html>') },
  {
    name: 'nothing but a status',
    needsBody: true,
    behave: ({ status }) => answer(status, 'application/json', ''),
  },
  {
    name: 'no content',
    behave:
      () =>
      ({ response }) =>
        response.writeHead(204).end(),
  },
  {
    name: 'no content type',
    needsBody: true,
    behave: ({ status, body }) =>
      raw(
        `HTTP/1.1 ${status} OK\r\ncontent-length: ${Buffer.byteLength(textOf(body))}\r\n\r\n${textOf(body)}`,
      ),
  },
  {
    name: 'JSON called text',
    needsBody: true,
    behave: ({ status, body }) => answer(status, 'text/plain', textOf(body)),
  },
  {
    name: 'JSON cut off',
    needsBody: true,
    behave: ({ status, body }) => answer(status, 'application/json', textOf(body).slice(0, -1)),
  },
  {
    name: 'JSON in zip',
    behave: ({ status, body }) =>
      answer(status, 'application/json', gzipSync(textOf(body)), { 'content-encoding': 'gzip' }),
  },
  {
    name: 'bytes that are no UTF-8',
    behave: ({ status }) => answer(status, 'application/json', Buffer.from('{"a":"\xff\xfe"}', 'latin1')),
  },
  { name: 'JSON of another shape', behave: ({ status }) => json(status, { hello: 'world' }) },
  { name: 'null', behave: ({ status }) => json(status, null) },
  { name: 'a number', behave: ({ status }) => json(status, 17) },
  {
    name: 'brackets without end',
    behave: ({ status }) => answer(status, 'application/json', '['.repeat(60_000)),
  },
  {
    name: 'objects within objects',
    behave: ({ status }) =>
      answer(status, 'application/json', `${'{"error":'.repeat(6_000)}1${'}'.repeat(6_000)}`),
  },
  { name: 'ten megabytes', behave: ({ status, body }) => tenMegabytes(status, body) },
  {
    name: 'informational responses without end',
    behave: () => relentless('', 'HTTP/1.1 103 Early Hints\r\n\r\n', { bytes: 0 }),
  },
  { name: 'a length of ten megabytes', behave: () => reset(headersOf(200, 'content-length: 10000000\r\n')) },
  { name: 'a reset instead of an answer', behave: () => reset('') },
  {
    name: 'a reset after the headers',
    behave: ({ status }) => reset(headersOf(status, 'content-length: 100\r\n')),
  },
  {
    name: 'half a body',
    behave: ({ status }) => raw(`${headersOf(status, 'content-length: 100\r\n')}{"half":`),
  },
  {
    name: 'chunks that stop',
    behave: ({ status }) => raw(`${headersOf(status, 'transfer-encoding: chunked\r\n')}5\r\n{"a":\r\n`),
  },
  { name: 'an echo of everything it was sent', behave: () => echo },
  { name: 'something that is not HTTP', behave: () => raw('SSH-2.0-OpenSSH_9.2\r\n') },
  { name: 'silence', behave: () => () => {}, endless: true },
  {
    name: 'silence after the headers',
    behave:
      ({ status }) =>
      ({ socket }) =>
        void socket.write(headersOf(status, 'content-length: 100\r\n')),
    endless: true,
  },
  { name: 'a body byte by byte', behave: () => oneByteEveryTurn, endless: true },
  { name: 'a redirect', behave: ({ body }) => json(302, body, { location: '/elsewhere' }) },
  { name: 'a permanent redirect', behave: ({ body }) => json(308, body, { location: '/elsewhere' }) },
  { name: 'a good answer with an undefined status code', behave: ({ body }) => json(299, body) },
  { name: 'a teapot', behave: () => json(418, { error: 'teapot' }) },
  { name: 'a status 404 from somebody else', behave: () => answer(404, 'text/html', '<html>404</html>') },
  { name: 'a status 403 from somebody else', behave: () => answer(403, 'text/html', '<html>403</html>') },
  { name: 'a status 400 from somebody else', behave: () => json(400, { message: 'no' }) },
  { name: 'an internal error with a good body', behave: ({ body }) => json(500, body) },
  { name: 'unavailability', behave: () => json(503, { message: 'later' }, { 'retry-after': '30' }) },
  { name: 'too many requests', behave: () => json(429, { message: 'slow down' }, { 'retry-after': '7' }) },
];
