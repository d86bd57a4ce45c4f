import { IncomingMessage, ServerResponse } from 'node:http';
import type { OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';

/** A remaining body up to this size is read and dropped, and the connection stays open for the next request. */
const droppedBytes = 64 * 1024;

/** How long a closing connection still reads, so that its client can read the answer. */
const lingerMs = { silent: 1_000, together: 5_000 };

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** A request whose body may be read in part. Leaving the loop over it does not destroy the connection, unlike in Node. */
class PartlyReadRequest extends IncomingMessage {
  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<unknown> {
    return this.iterator({ destroyOnReturn: false });
  }
}

/**
 * An answer that may be sent before the request's body has arrived. If much of the body is missing, the answer says `Connection: close`,
 * and the connection is closed gracefully. Nothing more is written, and arriving data is dropped. Closing at once would reset the
 * connection, and a client that is still sending would never read the answer (RFC 9112, section 9.6).
 */
class EarlyAnswer extends ServerResponse {
  override writeHead(status: number, statusMessage?: string, headers?: Headers): this;
  override writeHead(status: number, headers?: Headers): this;
  override writeHead(status: number, ...rest: unknown[]): this {
    if (!this.headersSent && this.isBodyAbandoned()) {
      this.setHeader('connection', 'close');
      const { socket } = this;
      // Node calls this after it has written an answer with `Connection: close`.
      if (socket !== null) socket.destroySoon = () => closeInOrder(socket);
    }
    return super.writeHead(status, ...(rest as [Headers?]));
  }

  /** Whether a handler did not read the whole body, and the rest is too long to be dropped. */
  protected isBodyAbandoned(): boolean {
    const { readableDidRead, headers } = this.req;
    if (!isBodyMissing(this.req)) return false;
    const isChunked = headers['transfer-encoding'] !== undefined;
    return readableDidRead || isChunked || Number(headers['content-length'] ?? 0) > droppedBytes;
  }
}

/** An early answer that does not wait for any missing part of the body. */
class ClosingAnswer extends EarlyAnswer {
  protected override isBodyAbandoned(): boolean {
    return isBodyMissing(this.req);
  }
}

/** Options of an HTTP/1.1 server whose handlers may answer before they have read the whole body. */
export const answersBeforeBody = {
  IncomingMessage: PartlyReadRequest,
  // Node's type for this option accepts only IncomingMessage as the request class.
  ServerResponse: EarlyAnswer as typeof ServerResponse,
};

/**
 * Options of a public HTTP/1.1 server. An answer that is sent before the whole body has arrived ends the connection. Some proxies send the
 * next request on a connection whose last body they have not sent. Its bytes would be read as that body, so another caller would get no answer.
 */
export const closesBeforeBody = {
  ServerResponse: ClosingAnswer as typeof ServerResponse,
};

/** Whether a part of the request's body has not been parsed. */
export function isBodyMissing({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function closeInOrder(socket: Socket): void {
  const destroy = (): unknown => socket.destroy();
  // The parser must not see the following bytes, because they may look like another request.
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
