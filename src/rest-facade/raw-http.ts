import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { jsonType } from './error-reply.ts';
import type { Logger } from '../runtime/logger.ts';

/** What is needed to answer where there is no request yet. */
export interface RawReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly newRequestId: () => string;
  readonly logger: Logger;
}

/** Why Node gave up on a connection before there was a request, and what that comes to for the client. */
const answers: ReadonlyMap<string, { status: number; message: string }> = new Map([
  // A verb that does not exist is a verb this API does not have.
  ['HPE_INVALID_METHOD', { status: 404, message: 'Not found' }],
  ['HPE_HEADER_OVERFLOW', { status: 431, message: 'Request header fields too large' }],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, message: 'Request timeout' }],
]);

/** Answers what Node's HTTP parser refuses, in the envelope of every other error, and closes the connection. */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  options: RawReplyOptions,
): void {
  const { status, message } = answers.get(error.code ?? '') ?? { status: 400, message: 'Bad request' };
  if (error.code !== 'ECONNRESET' && socket.writable) writeRaw(socket, status, message, options, error.code);
  socket.destroySoon();
}

/**
 * Takes over what Node would answer by itself without a body: CONNECT is a verb like any other that does not exist
 * here, and an `Expect` nobody understands may be ignored (RFC 9110, section 10.1.1).
 */
export function answerEveryRequest(server: Server, options: RawReplyOptions): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    writeRaw(socket, 404, 'Not found', options, 'CONNECT');
    socket.end();
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
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
  logger.info({ request_id: requestId, status, reason }, 'request that HTTP could not be made of');
}
