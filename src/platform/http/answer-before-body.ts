import { IncomingMessage, ServerResponse } from 'node:http';
import type { OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';

/** What is left of a body up to this size is read and dropped, and the connection stays open for the next request. */
const droppedBytes = 64 * 1024;

/** How long a connection that is being closed still reads, so that its client gets to read the answer. */
const lingerMs = { silent: 1_000, together: 5_000 };

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** A request whose body may be read in part: leaving the loop over it does not destroy the connection, as Node's would. */
class PartlyReadRequest extends IncomingMessage {
  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<unknown> {
    return this.iterator({ destroyOnReturn: false });
  }
}

/**
 * An answer that may come before the request's body has arrived. When much of the body is still to come, the answer says
 * `Connection: close` and the connection is closed in order: nothing more is written, what arrives is dropped. Closing at
 * once would reset the connection, and a client that is still sending would never read the answer (RFC 9112, section 9.6).
 */
class EarlyAnswer extends ServerResponse {
  override writeHead(status: number, statusMessage?: string, headers?: Headers): this;
  override writeHead(status: number, headers?: Headers): this;
  override writeHead(status: number, ...rest: unknown[]): this {
    if (!this.headersSent && isBodyAbandoned(this.req)) {
      this.setHeader('connection', 'close');
      const { socket } = this;
      // Node calls this when it has written an answer that says `Connection: close`.
      if (socket !== null) socket.destroySoon = () => closeInOrder(socket);
    }
    return super.writeHead(status, ...(rest as [Headers?]));
  }
}

/** Options of an HTTP/1.1 server whose handlers answer before they have read a body to its end. */
export const answersBeforeBody = {
  IncomingMessage: PartlyReadRequest,
  // Node's type of this option knows the class of the request as IncomingMessage alone.
  ServerResponse: EarlyAnswer as typeof ServerResponse,
};

/** Whether a handler stopped reading, or never began to read a body that is too long to be dropped. */
function isBodyAbandoned({ complete, readableDidRead, headers }: IncomingMessage): boolean {
  if (complete) return false;
  const isChunked = headers['transfer-encoding'] !== undefined;
  return readableDidRead || isChunked || Number(headers['content-length'] ?? 0) > droppedBytes;
}

function closeInOrder(socket: Socket): void {
  const destroy = (): unknown => socket.destroy();
  // The parser must not see what follows: it may look like another request.
  socket.removeAllListeners('data');
  socket.removeAllListeners('end');
  socket.on('end', destroy);
  socket.setTimeout(lingerMs.silent, destroy);
  const timer = setTimeout(destroy, lingerMs.together);
  socket.once('close', () => clearTimeout(timer));
  socket.end();
  socket.on('data', () => undefined);
  socket.resume();
}
