import { STATUS_CODES, ServerResponse } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '../logger.ts';

/** What is needed to answer where the framework has made no request yet. */
export interface RawReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly newRequestId: () => string;
  readonly logger: Logger;
}

const jsonType = 'application/json; charset=utf-8';

/** Why Node abandoned a connection before there was a request, and the answer to the client. */
const answers: ReadonlyMap<string, { status: number; message: string }> = new Map([
  // A verb that does not exist is a verb that no path has.
  ['HPE_INVALID_METHOD', { status: 404, message: 'Not found' }],
  ['HPE_HEADER_OVERFLOW', { status: 431, message: 'Request header fields too large' }],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, message: 'Request timeout' }],
]);

/** Answers what Node's HTTP parser refuses, as JSON with the status and a message, and closes the connection. */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  options: RawReplyOptions,
): void {
  const { status, message } = answers.get(error.code ?? '') ?? { status: 400, message: 'Bad request' };
  const canAnswer = error.code !== 'ECONNRESET' && socket.writable && !isAnswered(socket);
  if (canAnswer) writeRaw(socket, status, message, options, error.code);
  socket.destroySoon();
}

/**
 * Whether the request that the parser found fault with has an answer already, because its head was enough for one. A second
 * answer would be taken for that of the next request. Node's own handler asks the same; it offers no public way.
 */
function isAnswered(socket: Socket): boolean {
  const response: unknown = '_httpMessage' in socket ? socket._httpMessage : undefined;
  return response instanceof ServerResponse && response.headersSent;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Takes over what Node would answer by itself without a body: CONNECT is a verb that no path has, and an `Expect` that
 * is unknown may be ignored (RFC 9110, section 10.1.1). Errors that escape the framework while it handles a request are
 * answered 500 and logged: one request's error is no reason to end the process.
 */
export function answerEveryRequest(server: Server, options: RawReplyOptions): void {
  const handle = server.listeners('request') as Listener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    try {
      for (const each of handle) each.call(server, request, response);
    } catch (error) {
      answerEscapedError(error, response, options);
    }
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    writeRaw(socket, 404, 'Not found', options, 'CONNECT');
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
  logger.error({ err: error, request_id: requestId }, 'an error escaped the handling of a request');
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
  status: number,
  message: string,
  { headers, newRequestId, logger }: RawReplyOptions,
  reason = 'UNKNOWN',
): void {
  const requestId = newRequestId();
  const body = JSON.stringify({ code: status, message });
  const lines = Object.entries({
    ...headers,
    'content-type': jsonType,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    'x-request-id': requestId,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
  logger.info({ request_id: requestId, status, reason }, 'not a valid HTTP request');
}
