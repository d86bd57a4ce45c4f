import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TlsOptions } from 'node:tls';
import { gzipSync } from 'node:zlib';

/** A webhook that arrived completely. */
export interface ReceivedWebhook {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes. */
  readonly body: Buffer;
}

/** A receiver's behaviour for one webhook: with the HTTP library, or with raw bytes on the socket. */
export type Behaviour = (exchange: {
  readonly webhook: ReceivedWebhook;
  readonly response: ServerResponse;
  readonly socket: Socket;
}) => void;

interface ReceiverOptions {
  /** 127.0.0.1 when absent. */
  readonly host?: string;
  /** A free one when absent. */
  readonly port?: number;
  /** PEM texts, and options of the handshake. With them, the receiver uses TLS. */
  readonly tls?: ReceiverTls;
}

export interface ReceiverTls extends Pick<
  TlsOptions,
  'ALPNProtocols' | 'ciphers' | 'dhparam' | 'maxVersion'
> {
  readonly key: string;
  readonly cert: string;
}

/** Starts a merchant's server, on a port of its own, that handles each webhook by `behaviour`. */
export async function startReceiver(
  behaviour: Behaviour = answer(204),
  { host = '127.0.0.1', port = 0, tls }: ReceiverOptions = {},
) {
  let current = behaviour;
  let connections = 0;
  let openConnections = 0;
  const webhooks: ReceivedWebhook[] = [];
  const receive = (message: IncomingMessage, response: ServerResponse) => {
    void readWebhook(message).then((webhook) => {
      if (webhook === undefined) return;
      webhooks.push(webhook);
      current({ webhook, response, socket: message.socket });
    });
  };
  // Longer than any test, so that only the behaviour or the sender ends a connection.
  const options = { keepAliveTimeout: 120_000 };
  const server: Server =
    tls === undefined ? createServer(options, receive) : createSecureServer({ ...options, ...tls }, receive);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    openConnections += 1;
    socket.on('close', () => {
      openConnections -= 1;
    });
    socket.on('error', () => {});
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { port: boundPort } = server.address() as AddressInfo;

  return {
    /** Such as http://127.0.0.1:40123. */
    origin: `http${tls === undefined ? '' : 's'}://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    port: boundPort,
    /** Everything that arrived completely, in sequence. */
    webhooks: webhooks as readonly ReceivedWebhook[],
    /** The number of connections so far. */
    connectionCount: () => connections,
    /** The number of connections that are open now. */
    openConnectionCount: () => openConnections,
    /** Sets its behaviour from now on. */
    behave: (next: Behaviour): void => {
      current = next;
    },
    /** Closes every connection, those in use too, and the port. */
    close: async (): Promise<void> => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Undefined when the sender disconnected before the whole webhook had arrived. */
async function readWebhook(message: IncomingMessage): Promise<ReceivedWebhook | undefined> {
  const { method = '', url: target = '', headers } = message;
  const body = await buffer(message).catch(() => undefined);
  return body && { method, target, headers, body };
}

/** A port without a listener. It is privileged, so no process of a test takes it meanwhile. */
export const refusingPort = 1;

/** A port without a listener, for one that starts later. It was free a moment ago, and no more can be promised of a port. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * A server that handles each connection by something other than HTTP. It closes every connection when it is closed.
 */
export async function startTcpServer(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const disconnect = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    port,
    /** Ends every connection. */
    disconnect,
    close: async (): Promise<void> => {
      server.close();
      disconnect();
      await once(server, 'close');
    },
  };
}

/** Answers like a correct receiver. */
export const answer =
  (status: number, headers: Readonly<Record<string, string>> = {}, body: string | Buffer = ''): Behaviour =>
  ({ response }) => {
    response.writeHead(status, headers).end(body);
  };

/** Never answers. */
export const silence: Behaviour = () => {};

/** Holds its responses until `release`. */
export function onDemand() {
  const held: (() => void)[] = [];
  const behaviour: Behaviour = ({ response }) => void held.push(() => response.writeHead(200).end());
  return { held, behaviour, release: () => held.splice(0).forEach((each) => each()) };
}

/** Answers the webhooks that a test selects in one way, and all others in another. */
export const onlyFor =
  (isPicked: (webhook: ReceivedWebhook) => boolean, picked: Behaviour, others: Behaviour): Behaviour =>
  (exchange) =>
    (isPicked(exchange.webhook) ? picked : others)(exchange);

/** Begins an answer and never continues. */
export const silenceAfterHeaders =
  (status = 200): Behaviour =>
  ({ socket }) => {
    socket.write(`HTTP/1.1 ${status} Whatever\r\ncontent-length: 100\r\n\r\n`);
  };

/** A server's reaction to a request, written to the socket as raw bytes. */
type SocketBehaviour = (exchange: { readonly socket: Socket }) => void;

/** Resets the connection, at once or after these bytes. */
export const reset =
  (before = ''): SocketBehaviour =>
  ({ socket }) => {
    if (before === '') socket.resetAndDestroy();
    else socket.write(before, () => socket.resetAndDestroy());
  };

/** Writes bytes that need not be HTTP, and closes the connection. */
export const raw =
  (bytes: string | Buffer): SocketBehaviour =>
  ({ socket }) => {
    socket.end(bytes);
  };

/** Writes the start, and then `more` every few milliseconds. In practice that would be every second. */
export const dripping =
  (start: string, more: string): SocketBehaviour =>
  ({ socket }) => {
    socket.write(start);
    const drip = setInterval(() => socket.write(more), 5);
    socket.on('close', () => clearInterval(drip));
  };

/** A good answer that takes for ever. */
export const byteByByte = dripping(
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n',
  ' ',
);

/** A body without end, written as fast as it is read. */
export const endless =
  (status = 200): Behaviour =>
  ({ response }) => {
    response.writeHead(status, { 'content-type': 'text/plain' });
    const chunk = Buffer.alloc(16 * 1024, 'x');
    const pour = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', pour);
    };
    pour();
  };

/** Writes the start, and then `more` without end, as fast as it is read. `sent` counts the bytes. */
export const relentless =
  (start: string, more: string, sent: { bytes: number }): SocketBehaviour =>
  ({ socket }) => {
    const chunk = Buffer.from(more.repeat(Math.ceil((16 * 1024) / more.length)));
    socket.write(start);
    const pour = () => {
      let isRead = true;
      while (isRead && !socket.destroyed) {
        isRead = socket.write(chunk);
        sent.bytes += chunk.length;
      }
    };
    socket.on('drain', pour);
    pour();
  };

/** 10 MB of zeros in 10 kB. */
export const gzipBomb: Behaviour = ({ response }) => {
  const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));
  response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end(bomb);
};
