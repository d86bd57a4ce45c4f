/**
 * Bytes that anyone may send to a port. Each entry is sent on its own connection, and the process must survive all of them.
 * `status` is the answer that an HTTP listener must give. Without `status` it may close the connection instead.
 */
export interface CrashCase {
  readonly name: string;
  readonly bytes: string;
  readonly status?: number;
  /** Whether the sender resets the connection at once instead of waiting for the answer. */
  readonly reset?: true;
}

/** A path of the listener under which the next segment is a parameter, such as `/c/`. */
type Prefix = string;

const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
const get = (target: string, headers = 'Host: a\n'): string =>
  crlf(`GET ${target} HTTP/1.1\n${headers}Connection: close\n\n`);
const post = (target: string, headers: string, body = ''): string =>
  crlf(`POST ${target} HTTP/1.1\n${headers}Connection: close\n\n`) + body;
const long = 'a'.repeat(4_000);
const manyHeaders = (count: number): string =>
  Array.from({ length: count }, (_, i) => `X-${i}: x\n`).join('');
const http2Preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const settingsFrame = '\x00\x00\x00\x04\x00\x00\x00\x00\x00';
const headersFrame = '\x00\x00\x01\x01\x05\x00\x00\x00\x01\x82';
/** POST /x over HTTP/2 whose body has not ended. */
const postFrame = '\x00\x00\x09\x01\x04\x00\x00\x00\x01\x83\x86\x04\x02/x\x01\x01a';
const emptyDataFrame = '\x00\x00\x00\x00\x00\x00\x00\x00\x01';
const tlsHello = `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${'a'.repeat(500)}`;

const paths = (prefix: Prefix): CrashCase[] =>
  [
    ...[
      ['/%', '/%%', '/%zz', '/%ff%fe', '/%E0%A4%A', '/%?lang=am', '//[', '//[?lang=am', '/\\evil.example'],
      ['///', 'http://a/%', 'https://evil.example//x'],
    ].flatMap((targets) => targets.map((target) => ({ target, status: 404 }))),
    ...[
      ['/%00', '/?%', '/?lang=%E0%A4%A', '//', '/..%2f..%2fetc/passwd', '/./../..', '*', 'a', '/a#%'],
      ['http://[/', 'http://[::1', 'x://'],
      ['%', '%ff%fe', '%00', '%2e%2e%2f', 'constructor', '__proto__', long, `${long}%`, 'a'.repeat(101)].map(
        (segment) => `${prefix}${segment}`,
      ),
      ['%/%/%', `${long}/${long}`, 'x/%ff/y', `x/y/${long}`].map((segment) => `${prefix}${segment}`),
    ].flatMap((targets) => targets.map((target) => ({ target }))),
  ].map(({ target, ...rest }) => ({ name: `GET ${target.slice(0, 40)}`, bytes: get(target), ...rest }));

const heads = (prefix: Prefix): CrashCase[] => [
  { name: 'OPTIONS *', bytes: crlf('OPTIONS * HTTP/1.1\nHost: a\nConnection: close\n\n') },
  { name: 'TRACE', bytes: crlf('TRACE / HTTP/1.1\nHost: a\nConnection: close\n\n') },
  { name: 'CONNECT', bytes: crlf('CONNECT a:443 HTTP/1.1\nHost: a\n\n') },
  { name: 'CONNECT %', bytes: crlf('CONNECT % HTTP/1.1\nHost: a\n\nGET / HTTP/1.1\n\n') },
  { name: 'a verb that does not exist', bytes: crlf('BREW / HTTP/1.1\nHost: a\n\n') },
  { name: 'a target of 100 KB', bytes: get(`/${'a'.repeat(100_000)}`), status: 431 },
  { name: 'a parameter of 100 KB', bytes: get(`${prefix}${'%61'.repeat(33_000)}`), status: 431 },
  { name: '1,000 headers', bytes: get('/', `Host: a\n${manyHeaders(1_000)}`) },
  { name: '3,000 headers', bytes: get('/', `Host: a\n${manyHeaders(3_000)}`), status: 431 },
  { name: 'a cookie of 20 KB', bytes: get('/', `Host: a\nCookie: a=${'x'.repeat(20_000)}\n`), status: 431 },
  { name: 'two hosts', bytes: get('/', 'Host: a\nHost: b\n'), status: 400 },
  { name: 'the same host twice', bytes: get('/healthz', 'Host: a\nhost: a\n'), status: 400 },
  { name: 'no host', bytes: get('/', ''), status: 400 },
  { name: 'a host that is none', bytes: get('/', 'Host: [\n'), status: 400 },
  { name: 'a host with a space', bytes: get('/', 'Host: a b\n'), status: 400 },
  { name: 'HTTP/1.0 without a host', bytes: crlf('GET / HTTP/1.0\n\n') },
  { name: 'HTTP/0.9', bytes: 'GET /\r\n\r\n' },
  { name: 'HTTP/2.0 in the first line', bytes: crlf('GET / HTTP/2.0\nHost: a\n\n'), status: 400 },
  { name: 'HTTP/3.0', bytes: crlf('GET / HTTP/3.0\nHost: a\n\n'), status: 400 },
  { name: 'a header without a name', bytes: get('/', 'Host: a\n: x\n'), status: 400 },
  { name: 'NUL in a header', bytes: get('/', 'Host: a\nX: \0\n'), status: 400 },
  { name: 'NUL in the target', bytes: get('/\0', 'Host: a\n'), status: 400 },
  { name: 'a lone CR', bytes: 'GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n', status: 400 },
  { name: 'headers on several lines', bytes: get('/', 'Host: a\nX: a\n b\n') },
  ...[
    'Cookie: gatehouse_session=%; gatehouse_csrf=%E0%A4%A; =; ;;;\n',
    'Accept-Language: ,;q=,*;q=x,\xff\xff\n',
    'X-Forwarded-For: %, [, ::::, 999.1.1.1\nX-Forwarded-Proto: x\nForwarded: for="[\n',
    'X-Request-Id: \xff\xff\n',
    'Authorization: Basic %\nApiKey: %\n',
    'Accept-Version: %\nVersion: x\nVary: *\n',
    'Range: bytes=-1,x-\nIf-Modified-Since: x\nIf-None-Match: "\n',
    'Expect: something\n',
    'Sec-Fetch-Site: x\nOrigin: %\nReferer: %\n',
  ].map((header) => ({ name: header.slice(0, 40), bytes: get('/', `Host: a\n${header}`) })),
  {
    name: 'an upgrade to a WebSocket',
    bytes: get('/', 'Host: a\nUpgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Key: x\n'),
  },
  {
    name: 'an upgrade to HTTP/2',
    bytes: get('/', 'Host: a\nUpgrade: h2c\nConnection: Upgrade, HTTP2-Settings\nHTTP2-Settings: %\n'),
  },
];

const bodies = (prefix: Prefix): CrashCase[] => [
  ...['/', `${prefix}x`, `${prefix}x/y`].flatMap((target): CrashCase[] => [
    { name: `POST ${target} nothing`, bytes: post(target, 'Host: a\n') },
    ...[
      ['application/json', '{"a":'],
      ['application/json', '['.repeat(30_000)],
      ['application/json', '{"__proto__":{"a":1},"constructor":{"prototype":1}}'],
      ['application/x-www-form-urlencoded', 'a=%&%=%E0%A4%A&__proto__=1&_csrf=%'],
      ['application/x-www-form-urlencoded', '&=&'.repeat(10_000)],
      ['multipart/form-data; boundary=x', '--x\r\n\r\n'],
      ['text/plain; charset=klingon', '\0\xff\xfe'],
      ['%', 'a'],
      ['application/grpc', '\x00\x00\x00\x00\xff'],
      ['application/connect+json', '\xff\xff\xff\xff\xff{}'],
    ].map(([type = '', body = '']) => ({
      name: `POST ${target} ${type} ${body.slice(0, 10)}`,
      bytes: post(target, `Host: a\nContent-Type: ${type}\nContent-Length: ${body.length}\n`, body),
    })),
  ]),
  {
    name: 'a body of 2 MB',
    bytes: post('/', `Host: a\nContent-Type: application/json\nContent-Length: 2000000\n`, 'x'.repeat(2e6)),
  },
  {
    name: 'a gzip body that is none',
    bytes: post('/', 'Host: a\nContent-Encoding: gzip\nContent-Length: 1\n', 'x'),
  },
  ...[
    ['a length that is no number', 'Content-Length: x\n'],
    ['a negative length', 'Content-Length: -1\n'],
    ['a length beyond all numbers', 'Content-Length: 99999999999999999999\n'],
    ['two lengths', 'Content-Length: 1\nContent-Length: 2\n'],
    ['a length and chunks', 'Content-Length: 1\nTransfer-Encoding: chunked\n'],
    ['gzip, chunked', 'Transfer-Encoding: gzip, chunked\n'],
    ['gzip and chunked in two headers', 'Transfer-Encoding: gzip\nTransfer-Encoding: chunked\n'],
    ['chunked, gzip', 'Transfer-Encoding: chunked, gzip\n'],
  ].map(([name = '', header = '']) => ({
    name,
    bytes: post('/', `Host: a\n${header}`, '0\r\n\r\n'),
    status: 400,
  })),
  ...[
    ['a chunk of no length', 'zz\r\n{}'],
    ['a chunk longer than all numbers', 'ffffffffffffffffff\r\nx'],
    ['a chunk with 100 KB of extensions', `1;${'x'.repeat(100_000)}\r\nx\r\n0\r\n\r\n`],
  ].map(([name = '', body = '']) => ({
    name,
    bytes: post('/', 'Host: a\nContent-Type: application/json\nTransfer-Encoding: chunked\n', body),
  })),
];

const otherProtocols: CrashCase[] = [
  { name: 'nothing', bytes: '' },
  { name: 'an empty line', bytes: '\r\n\r\n\r\n' },
  { name: 'words', bytes: 'hello\r\n\r\n' },
  { name: 'NULs', bytes: '\0'.repeat(2_000) },
  {
    name: 'random bytes',
    bytes: String.fromCharCode(...Array.from({ length: 2_000 }, (_, i) => (i * 7919 + 13) % 256)),
  },
  { name: 'a TLS greeting', bytes: tlsHello },
  { name: 'SSH', bytes: 'SSH-2.0-OpenSSH_9.6\r\n' },
  { name: 'PostgreSQL', bytes: '\x00\x00\x00\x08\x04\xd2\x16\x2f' },
  { name: 'a proxy protocol header', bytes: 'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\n\r\n' },
  { name: 'an HTTP/2 preface', bytes: http2Preface },
  { name: 'HTTP/2 with a call', bytes: http2Preface + settingsFrame + headersFrame },
  {
    name: 'HTTP/2 with a frame that is too large',
    bytes: `${http2Preface}${settingsFrame}\xff\xff\xff\x01\x04\x00\x00\x00\x01`,
  },
  { name: 'HTTP/2 with bytes after the settings', bytes: http2Preface + settingsFrame + 'x'.repeat(5_000) },
  {
    name: 'HTTP/2 with headers that are none',
    bytes: `${http2Preface}${settingsFrame}\x00\x00\x04\x01\x05\x00\x00\x00\x01\xff\xff\xff\xff`,
  },
  // The order of reads decides whether a frame comes after the end of the call.
  ...Array.from({ length: 12 }, () => ({
    name: 'HTTP/2 with frames after the end of a call',
    bytes: http2Preface + settingsFrame + postFrame + emptyDataFrame.repeat(45_000),
  })),
  { name: 'a preface that turns into HTTP/1.1', bytes: `PRI * HTTP/2.0\r\n\r\n${get('/')}` },
  { name: '200 requests in a row', bytes: crlf('GET /% HTTP/1.1\nHost: a\n\n').repeat(200) + get('/') },
];

const resets = (prefix: Prefix): CrashCase[] =>
  [
    ['before a byte', ''],
    ['in the request line', 'GET /'],
    ['after the head', get(`${prefix}%`)],
    ['in the body', post(`${prefix}x`, 'Host: a\nContent-Length: 100\n', 'x')],
    ['in a chunk', post('/', 'Host: a\nTransfer-Encoding: chunked\n', 'ff\r\nx')],
    ['in many answers', get('/%').repeat(100)],
    ['in an HTTP/2 call', http2Preface + settingsFrame + headersFrame],
    ['in a TLS greeting', tlsHello],
    ['after CONNECT', crlf('CONNECT a:1 HTTP/1.1\nHost: a\n\n')],
  ].map(([name = '', bytes = '']) => ({ name: `reset ${name}`, bytes, reset: true }));

/** All entries, for a listener with parameters under this prefix. */
export const crashCorpus = (prefix: Prefix): readonly CrashCase[] => [
  ...paths(prefix),
  ...heads(prefix),
  ...bodies(prefix),
  ...otherProtocols,
  ...resets(prefix),
];

/** Beginnings after which the sender sends nothing more. The listener closes each by itself. */
export const halfRequests: readonly { readonly name: string; readonly bytes: string }[] = [
  { name: 'nothing', bytes: '' },
  { name: 'half a request line', bytes: 'GET /he' },
  { name: 'the first word of an HTTP/2 preface', bytes: 'PRI * HT' },
  { name: 'half an HTTP/2 preface', bytes: 'PRI * HTTP/2.0\r\n\r\nSM' },
  { name: 'half a head', bytes: crlf('POST / HTTP/1.1\nHost: a\nX-Begun') },
  { name: 'half a body', bytes: crlf('POST / HTTP/1.1\nHost: a\nContent-Length: 100\n\n{"a"') },
  { name: 'half a chunk', bytes: crlf('POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\nff\n{"a"') },
];

/** Calls over HTTP/2 with valid frames and invalid content: pseudo-headers, headers and the bytes of the body. */
export const http2Calls = (method: string): readonly (readonly [Record<string, string>, string])[] => [
  ...['/', '/%', '/%ff', '//[', '/a/b/c', `/${long}`, method.toUpperCase(), `${method}/x`, `${method}?%`].map(
    (path) => [{ ':path': path, 'content-type': 'application/grpc' }, '\0\0\0\0\0'] as const,
  ),
  ...[
    { ':method': 'GET' },
    { ':method': 'OPTIONS', ':path': '*' },
    { 'content-type': 'application/json' },
    { 'content-type': '%' },
    { 'content-type': 'application/grpc+%' },
    { 'grpc-timeout': '99999999H' },
    { 'grpc-timeout': '0n' },
    { 'grpc-timeout': 'x' },
    { 'grpc-encoding': 'x' },
    { 'grpc-accept-encoding': '%' },
    { 'grpc-encoding': 'gzip' },
    { 'x-broken-bin': '%%%' },
    { 'x-bytes': '\xff\xfe' },
    { 'x-request-id': long },
    { 'x-gatehouse-actor': '%\xff' },
    { authorization: 'Bearer' },
    { authorization: `Bearer ${'x'.repeat(60_000)}` },
    { 'connect-protocol-version': 'x', 'content-type': 'application/connect+proto' },
    { 'content-type': 'application/grpc-web-text' },
    { te: 'trailers', 'user-agent': '' },
  ].map(
    (headers) => [{ ':path': method, 'content-type': 'application/grpc', ...headers }, '\0\0\0\0\0'] as const,
  ),
  ...[
    '',
    '\0',
    '\0\xff\xff\xff\xff',
    '\x01\0\0\0\x01x',
    '\xff\0\0\0\x02{}',
    `\0\0\0\0\x05\xff\xff\xff\xff\xff`,
    'x'.repeat(5e6),
  ].map((body) => [{ ':path': method, 'content-type': 'application/grpc' }, body] as const),
];
