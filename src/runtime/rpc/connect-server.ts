import { createServer as createHttp1Server } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { ServerHttp2Session } from 'node:http2';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { ConnectRouter, ServiceImplSpec } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { Logger } from '../logger.ts';
import { defaultDeadlineMs, maxMessageBytes } from './grpc-server.ts';

export interface ConnectServer {
  /** Where it listens, as host:port. */
  readonly address: string;
  /** Takes no new calls, lets running ones end, and cuts them off after `timeoutMs`. */
  readonly stop: (timeoutMs: number) => Promise<void>;
}

export interface ConnectServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Guarded services. */
  readonly services: readonly ServiceImplSpec[];
  readonly logger: Logger;
}

/** The first bytes of an HTTP/2 connection with prior knowledge (RFC 9113, section 3.4). */
const http2Preface = Buffer.from('PRI * HTTP/2.0');
/** A connection that has not said which protocol it speaks after this long is closed. */
const prefaceTimeoutMs = 10_000;

/**
 * Serves Connect, gRPC-Web and gRPC over HTTP/1.1 and cleartext HTTP/2 on one port. Node's HTTP/2 server speaks no
 * HTTP/1.1 without TLS, so each connection's first bytes decide which of two servers it is handed to.
 * @throws when the port cannot be had.
 */
export async function startConnectServer({
  host,
  port,
  services,
  logger,
}: ConnectServerOptions): Promise<ConnectServer> {
  const handler = connectNodeAdapter({
    routes: (router) => services.forEach((spec) => addRoutes(router, spec)),
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
    maxTimeoutMs: 24 * 60 * 60 * 1000,
  });
  const http1 = createHttp1Server(
    { requestTimeout: defaultDeadlineMs, headersTimeout: prefaceTimeoutMs },
    handler,
  );
  const http2 = createHttp2Server({ settings: { maxConcurrentStreams: 1024 } }, handler);
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  http2.on('session', (session) => {
    sessions.add(session);
    // A peer that breaks off mid-frame is its own problem; without a listener it would be the process's.
    session.on('error', (error) => logger.debug({ err: error }, 'HTTP/2 session ended with an error'));
    session.on('close', () => sessions.delete(session));
  });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', (error) => logger.debug({ err: error }, 'connection ended with an error'));
    socket.on('close', () => sockets.delete(socket));
    choose(socket, (isHttp2) => (isHttp2 ? http2 : http1).emit('connection', socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  const { port: boundPort } = server.address() as AddressInfo;
  const stop = async (timeoutMs: number): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    // The servers behind the listener never listened themselves: only their connections need closing.
    http1.closeIdleConnections();
    for (const session of sessions) session.close();
    const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), timeoutMs);
    // A kept-alive HTTP/1.1 connection becomes idle only after its last answer, so look again until none is left.
    const sweep = setInterval(() => http1.closeIdleConnections(), 100);
    await closed;
    clearTimeout(timer);
    clearInterval(sweep);
  };
  return { address: `${host}:${boundPort}`, stop };
}

function addRoutes(router: ConnectRouter, { methods }: ServiceImplSpec): void {
  for (const spec of Object.values(methods)) {
    switch (spec.kind) {
      case 'unary':
        router.rpc(spec.method, spec.impl, { maxTimeoutMs: 10 * 60 * 1000 });
        break;
      case 'server_streaming':
        router.rpc(spec.method, spec.impl);
        break;
      case 'client_streaming':
        router.rpc(spec.method, spec.impl);
        break;
      case 'bidi_streaming':
        router.rpc(spec.method, spec.impl);
        break;
    }
  }
}

/** Reads the first bytes of a connection, puts them back, and says whether they begin an HTTP/2 connection. */
function choose(socket: Socket, use: (isHttp2: boolean) => void): void {
  let seen = Buffer.alloc(0);
  socket.setTimeout(prefaceTimeoutMs, () => socket.destroy());
  const look = (): void => {
    const chunk: unknown = socket.read();
    if (!Buffer.isBuffer(chunk)) return;
    seen = Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, http2Preface.length);
    const mayBeHttp2 = seen.subarray(0, length).equals(http2Preface.subarray(0, length));
    if (mayBeHttp2 && length < http2Preface.length) return;
    socket.off('readable', look);
    socket.setTimeout(0);
    socket.removeAllListeners('timeout');
    socket.unshift(seen);
    use(mayBeHttp2);
  };
  socket.on('readable', look);
}
