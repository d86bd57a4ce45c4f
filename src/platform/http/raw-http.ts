import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limitLines } from '../line-limit.ts';
import type { LogLimited } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import { httpTimeoutsMs } from './http-timeouts.ts';
import { boundParsing, handleInTurn } from './requests-in-turn.ts';

/** The options for answers outside the framework, which has not created a request at that point. */
export interface RawReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** The HTML of a 431; JSON when undefined. */
  readonly tooLargePage?: string | undefined;
  readonly newRequestId: () => string;
  readonly logger: Logger;
  /** Logs a refused request by the reason, because anyone can send as many as they like. */
  readonly logRefused: LogLimited<object>;
}

export const limitRefusedRequests = (logger: Logger): LogLimited<object> =>
  limitLines((facts: object, count) => logger.info({ ...facts, count }, 'not a valid HTTP request'));

const jsonType = 'application/json; charset=utf-8';

interface RawAnswer {
  readonly status: number;
  readonly message: string;
  readonly details?: readonly { readonly field: string; readonly issue: string }[];
}

const badRequest = (field: string, issue: string): RawAnswer => ({
  status: 400,
  message: 'Bad request',
  details: [{ field, issue }],
});

const unknownMethod: RawAnswer = {
  status: 404,
  message: 'Not found',
  details: [{ field: 'method', issue: 'must be one that the path supports' }],
};

const lengthOnce = 'must be the only header that gives the length of the body';

const version = badRequest(
  'request',
  'must use HTTP/1.1 or HTTP/1.0, and end each line of its head with CR LF',
);
const headerLines = badRequest(
  'headers',
  'must each be one line of a name, a colon and a value, without control characters, ended by CR LF',
);
const chunks = badRequest('body', 'must be sent in chunks that begin with their size');

/** Node's errors for connections without a complete request, and the answers to the client. */
const answers: ReadonlyMap<string, RawAnswer> = new Map<string, RawAnswer>([
  // An unknown verb is answered like a verb that the path does not support.
  ['HPE_INVALID_METHOD', unknownMethod],
  [
    'HPE_HEADER_OVERFLOW',
    {
      status: 431,
      message: 'Request header fields too large',
      details: [{ field: 'headers', issue: 'must have at most 16 KiB together with the request line' }],
    },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    {
      status: 408,
      message: 'Request timeout',
      details: [
        { field: 'request', issue: 'must be sent completely within 10 seconds, and its headers within 5' },
      ],
    },
  ],
  ['HPE_INVALID_EOF_STATE', badRequest('request', 'must be sent completely before the connection is closed')],
  ['HPE_INVALID_CHUNK_SIZE', chunks],
  ['HPE_STRICT', chunks],
  ['HPE_INVALID_CONTENT_LENGTH', badRequest('Content-Length', 'must be the number of bytes in the body')],
  ['HPE_UNEXPECTED_CONTENT_LENGTH', badRequest('Content-Length', lengthOnce)],
  ['HPE_INVALID_TRANSFER_ENCODING', badRequest('Transfer-Encoding', lengthOnce)],
  ['HPE_PAUSED_H2_UPGRADE', badRequest('request', 'must use HTTP/1.1: HTTP/2 is not supported here')],
  ['HPE_INVALID_VERSION', version],
  [
    'HPE_INVALID_CONSTANT',
    badRequest('request', 'must begin with a method, a path without spaces and HTTP/1.1'),
  ],
  ['HPE_INVALID_URL', badRequest('request', 'must have a path in percent-encoded ASCII that begins with /')],
  ['HPE_INVALID_HEADER_TOKEN', headerLines],
  ['HPE_LF_EXPECTED', headerLines],
  ['HPE_CR_EXPECTED', headerLines],
]);

/** The answer to a request that Node's parser refuses for another reason. */
const notHttp = badRequest('request', 'must be valid HTTP/1.1');

/** What Node's parser reports. One code has two meanings, which its reason tells apart. */
type ParserError = Error & { code?: string; reason?: string; rawPacket?: Uint8Array };

function answerTo({ code = '', reason = '' }: ParserError): RawAnswer {
  if (code === 'HPE_INVALID_CONTENT_LENGTH' && reason.includes('Transfer-Encoding'))
    return badRequest('Content-Length', lengthOnce);
  return answers.get(code) ?? notHttp;
}

interface Received {
  /** The number of requests that the connection brought. */
  requests: number;
  /** The response to the latest of them. */
  latest?: ServerResponse;
  /** The response to the one before, if it was not finished. */
  previous?: ServerResponse | undefined;
  /** Whether the bytes after them are not HTTP. */
  isRefused?: true;
}

const receivedBy = new WeakMap<Duplex, Received>();

/**
 * Answers requests that Node's HTTP parser refuses, as JSON with the status and a message or as a page, and closes the connection. An answer
 * to an earlier request is sent first.
 */
export function answerClientError(error: ParserError, socket: Socket, options: RawReplyOptions): void {
  const canWrite = error.code !== 'ECONNRESET' && socket.writable;
  const received = receivedBy.get(socket);
  const latest = received?.latest;
  const lastComplete = latest?.req.complete === true ? latest : received?.previous;
  if (canWrite && received !== undefined && lastComplete?.writableFinished === false) {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      // The rest of the request may not be read yet, because others were handled. So the request is judged a moment after their answers.
      const judge = (): void => {
        const newest = received.latest;
        const hasArrived = newest?.req.complete === true && newest !== lastComplete;
        if (!hasArrived) answerClientError(error, socket, options);
      };
      lastComplete.once('finish', () => setTimeout(judge, httpTimeoutsMs.check));
      return;
    }
    socket.pause();
    // Node reads on after each answer, and reports each read.
    if (received.isRefused === undefined) lastComplete.once('finish', () => socket.destroySoon());
    received.isRefused = true;
    return;
  }
  if (canWrite && !isAnswered(latest)) {
    const reason = beginsTls(error.rawPacket) ? 'TLS_ON_HTTP_PORT' : error.code;
    writeRaw(socket, answerTo(error), options, reason);
  }
  socket.destroySoon();
}

/** Whether a client began TLS: a record of a handshake, of any version (RFC 8446, section 5.1). Its user sees only that TLS failed. */
const beginsTls = (packet?: Uint8Array): boolean => packet?.[0] === 0x16 && packet[1] === 0x03;

/**
 * Whether the request that is refused has its answer already, because its head was sufficient. The client would read a second answer
 * as the answer to its next request.
 */
const isAnswered = (latest: ServerResponse | undefined): boolean =>
  // The parser refuses the rest of an incomplete request, and a new request after a complete one.
  latest !== undefined && !latest.req.complete && (latest.headersSent || latest.socket === null);

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Handles requests that Node would answer itself, without a body. CONNECT is a verb that no path supports. An unknown
 * `Expect` may be ignored (RFC 9110, section 10.1.1). An error that escapes the framework during a request is logged and
 * answered with 500, because it must not end the process.
 * @param maxRequests the requests on one connection. The last one is answered with `Connection: close`, and the connection ends
 */
export function answerEveryRequest(server: Server, options: RawReplyOptions, maxRequests = Infinity): void {
  const handle = server.listeners('request') as Listener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (!isWithinLimit(request.socket, response, maxRequests)) return;
    handleInTurn(request, response, () => {
      try {
        for (const each of handle) each.call(server, request, response);
      } catch (error) {
        answerEscapedError(error, response, options);
      }
    });
  });
  server.on('connection', boundParsing());
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    writeRaw(socket, unknownMethod, options, 'CONNECT');
    socket.end();
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/**
 * Counts a request of a connection. Requests after the last allowed one stay unanswered and have no effect, as RFC 9112, section 9.6 demands.
 * Node's own limit would answer them with 503 and without a body, and would leave the connection open.
 */
function isWithinLimit(socket: Duplex, response: ServerResponse, maxRequests: number): boolean {
  const received = receivedBy.get(socket) ?? { requests: 0 };
  received.requests += 1;
  if (received.requests > maxRequests) return false;
  received.previous = received.latest?.writableFinished === false ? received.latest : undefined;
  received.latest = response;
  receivedBy.set(socket, received);
  if (received.requests === maxRequests) response.shouldKeepAlive = false;
  return true;
}

function answerEscapedError(
  error: unknown,
  response: ServerResponse,
  { headers, newRequestId, logger }: RawReplyOptions,
): void {
  const requestId = newRequestId();
  logger.error({ err: error, request_id: requestId }, 'unexpected error while handling a request');
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const own = { 'content-type': jsonType, connection: 'close', 'x-request-id': requestId };
  response.writeHead(500, { ...headers, ...own });
  response.end(JSON.stringify({ code: 500, message: 'Internal server error' }));
}

function writeRaw(
  socket: Duplex,
  { status, message, details }: RawAnswer,
  { headers, tooLargePage, newRequestId, logRefused }: RawReplyOptions,
  reason = 'UNKNOWN',
): void {
  const requestId = newRequestId();
  const page = status === 431 ? tooLargePage : undefined;
  const body = page ?? JSON.stringify({ code: status, message, details });
  const lines = Object.entries({
    ...headers,
    'content-type': page === undefined ? jsonType : 'text/html; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    'x-request-id': requestId,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
  logRefused(reason, { request_id: requestId, status, reason });
}
