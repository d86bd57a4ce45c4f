import { gzipSync } from 'node:zlib';
import { byteByByte, raw, relentless, reset } from '../webhooks/receivers.ts';
import type { Behaviour } from './scripted-wallet.ts';
import { answer, json } from './scripted-wallet.ts';

/** The good answer of a call, some of whose faults are only in its status or its body: empty for none. */
interface Good {
  readonly status: number;
  readonly body: unknown;
  readonly text: string;
}

/** An answer of a wallet that decides nothing. */
export interface Fault {
  readonly name: string;
  readonly behave: (good: Omit<Good, 'text'>) => Behaviour;
  /** The answer never ends; the caller must give up. */
  readonly endless?: true;
  /** This fault is the good answer of calls without a body, so it proves nothing there. */
  readonly needsBody?: true;
}

const headersOf = (status: number, more: string): string =>
  `HTTP/1.1 ${status} Whatever\r\ncontent-type: application/json\r\n${more}\r\n`;

/** The good answer followed by blanks, far beyond any limit, written as fast as it is read. */
const tenMegabytes =
  ({ status, text }: Good): Behaviour =>
  ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.write(text || ' ');
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

const noContent: Behaviour = ({ response }) => response.writeHead(204).end();

/** Some servers do this in a debug mode. */
const echo: Behaviour = ({ response, request }) => {
  response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(request));
};

type Answers = Readonly<Record<string, (good: Good) => Behaviour>>;

const ofBodies: Answers = {
  'nothing but a status': ({ status }) => answer(status, 'application/json', ''),
  'no content type': ({ status, text }) =>
    raw(`HTTP/1.1 ${status} OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`),
  'JSON called text': ({ status, text }) => answer(status, 'text/plain', text),
  'JSON cut off': ({ status, text }) => answer(status, 'application/json', text.slice(0, -1)),
};

const ofAll: Answers = {
  'a web page': ({ status }) => answer(status, 'text/html', '<html>Welcome</html>'),
  'a web page about a bad gateway': () => answer(502, 'text/html', '<html>502</html>'),
  'no content': () => noContent,
  'JSON in zip': ({ status, text }) =>
    answer(status, 'application/json', gzipSync(text), { 'content-encoding': 'gzip' }),
  'bytes that are no UTF-8': ({ status }) =>
    answer(status, 'application/json', Buffer.from('{"a":"\xff\xfe"}', 'latin1')),
  'JSON of another shape': ({ status }) => json(status, { hello: 'world' }),
  null: ({ status }) => json(status, null),
  'a number': ({ status }) => json(status, 17),
  'brackets without end': ({ status }) => answer(status, 'application/json', '['.repeat(60_000)),
  'objects within objects': ({ status }) =>
    answer(status, 'application/json', `${'{"error":'.repeat(6_000)}1${'}'.repeat(6_000)}`),
  'ten megabytes': tenMegabytes,
  'informational responses without end': () =>
    relentless('', 'HTTP/1.1 103 Early Hints\r\n\r\n', { bytes: 0 }),
  'a length of ten megabytes': () => reset(headersOf(200, 'content-length: 10000000\r\n')),
  'a reset instead of an answer': () => reset(),
  'a reset after the headers': ({ status }) => reset(headersOf(status, 'content-length: 100\r\n')),
  'half a body': ({ status }) => raw(`${headersOf(status, 'content-length: 100\r\n')}{"half":`),
  'chunks that stop': ({ status }) =>
    raw(`${headersOf(status, 'transfer-encoding: chunked\r\n')}5\r\n{"a":\r\n`),
  'an echo of everything it was sent': () => echo,
  'something that is not HTTP': () => raw('SSH-2.0-OpenSSH_9.2\r\n'),
  'a redirect': ({ body }) => json(302, body, { location: '/elsewhere' }),
  'a permanent redirect': ({ body }) => json(308, body, { location: '/elsewhere' }),
  'a good answer with an undefined status code': ({ body }) => json(299, body),
  'a teapot': () => json(418, { error: 'teapot' }),
  'a status 404 from somebody else': () => answer(404, 'text/html', '<html>404</html>'),
  'a status 403 from somebody else': () => answer(403, 'text/html', '<html>403</html>'),
  'a status 400 from somebody else': () => json(400, { message: 'no' }),
  'an internal error with a good body': ({ body }) => json(500, body),
  unavailability: () => json(503, { message: 'later' }, { 'retry-after': '30' }),
  'too many requests': () => json(429, { message: 'slow down' }, { 'retry-after': '7' }),
};

const withoutEnd: Answers = {
  silence: () => () => {},
  'silence after the headers':
    ({ status }) =>
    ({ socket }) =>
      void socket.write(headersOf(status, 'content-length: 100\r\n')),
  'a body byte by byte': () => byteByByte,
};

const faultsOf = (answers: Answers, more: Pick<Fault, 'endless' | 'needsBody'> = {}): readonly Fault[] =>
  Object.entries(answers).map(([name, answerTo]) => ({
    name,
    behave: (good) => answerTo({ ...good, text: good.body === undefined ? '' : JSON.stringify(good.body) }),
    ...more,
  }));

/** Known faults of wallets, and of proxies before them, in place of an answer. */
export const faults: readonly Fault[] = [
  ...faultsOf(ofAll),
  ...faultsOf(ofBodies, { needsBody: true }),
  ...faultsOf(withoutEnd, { endless: true }),
];
