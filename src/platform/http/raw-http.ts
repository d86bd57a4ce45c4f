import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limitLines } from '../line-limit.ts';
import type { LogLimited } from '../line-limit.ts';
import type { Logger } from '../logger.ts';

/** The options for answers outside the framework, which has not created a request at that point. */
export interface RawReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
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

const lengthOnce = 'must be the only header that gives the length of the body';

/** Node's errors for connections without a complete request, and the answers to the client. */
const answers: ReadonlyMap<string, RawAnswer> = new Map<string, RawAnswer>([
  // An unknown verb is answered like a verb that the path does not support.
  ['HPE_INVALID_METHOD', { status: 404, message: 'Not found' }],
  ['HPE_HEADER_OVERFLOW', { status: 431, message: 'Request header fields too large' }],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, message: 'Request timeout' }],
  ['HPE_INVALID_EOF_STATE', badRequest('request', 'must be sent completely before the connection is closed')],
  ['HPE_INVALID_CHUNK_SIZE', badRequest('body', 'must be sent in chunks that begin with their size')],
  ['HPE_INVALID_CONTENT_LENGTH', badRequest('Content-Length', 'must be the number of bytes in the body')],
  ['HPE_UNEXPECTED_CONTENT_LENGTH', badRequest('Content-Length', lengthOnce)],
  ['HPE_INVALID_TRANSFER_ENCODING', badRequest('Transfer-Encoding', lengthOnce)],
]);

/** The response to the latest request that each connection brought. */
const latestResponses = new WeakMap<Duplex, ServerResponse>();

/**
 * Answers requests that Node's HTTP parser refuses, as JSON with the status and a message, and closes the connection. An answer
 * to an earlier request is sent first.
 */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  options: RawReplyOptions,
): void {
  const canWrite = error.code !== 'ECONNRESET' && socket.writable;
  const latest = latestResponses.get(socket);
  if (canWrite && latest?.req.complete === true && !latest.writableFinished) {
    socket.pause();
    latest.once('finish', () => socket.destroySoon());
    return;
  }
  if (canWrite && !isAnswered(latest)) {
    const answer = answers.get(error.code ?? '') ?? { status: 400, message: 'Bad request' };
    writeRaw(socket, answer, options, error.code);
  }
  socket.destroySoon();
}

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
 */
export function answerEveryRequest(server: Server, options: RawReplyOptions): void {
  const handle = server.listeners('request') as Listener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    latestResponses.set(request.socket, response);
    try {
      for (const each of handle) each.call(server, request, response);
    } catch (error) {
      answerEscapedError(error, response, options);
    }
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    writeRaw(socket, { status: 404, message: 'Not found' }, options, 'CONNECT');
    socket.end();
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
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
  { headers, newRequestId, logRefused }: RawReplyOptions,
  reason = 'UNKNOWN',
): void {
  const requestId = newRequestId();
  const body = JSON.stringify({ code: status, message, details });
  const lines = Object.entries({
    ...headers,
    'content-type': jsonType,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    'x-request-id': requestId,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
  logRefused(reason, { request_id: requestId, status, reason });
}
