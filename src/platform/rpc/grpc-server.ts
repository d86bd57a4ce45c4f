import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { ServiceImplSpec } from '@connectrpc/connect';
import { Server } from '@grpc/grpc-js';
import type { Metadata } from '@grpc/grpc-js';
import type { Logger } from '../logger.ts';
import { handshakeTimeoutMs } from '../tls/server-tls.ts';
import type { ServerTls } from '../tls/server-tls.ts';
import { watchHandshakes } from '../tls/watch-handshakes.ts';
import { longestTimerMs, maxMessageBytes } from './call-limits.ts';
import { pingWhileClosing, pings } from './closing-pings.ts';
import { serverCredentials } from './grpc-credentials.ts';
import { definitionOf, implementationOf } from './grpc-handlers.ts';
import { peerOf, rememberExpired } from './grpc-peer.ts';
import { maxUnknownCallerBytes } from './known-caller.ts';
import type { IsKnownCaller, MaxBytesOfCaller } from './known-caller.ts';
import { openSocketsOf } from './open-sockets.ts';
import { streamResetLimits } from './stream-resets.ts';
import { limitUnreadBytes } from './limit-unread-bytes.ts';
import { limitUnknownCallers, maxOpen } from './limit-unknown-callers.ts';
import { explainTransportErrors } from './grpc-transport-errors.ts';
import { unknownCalls } from './unknown-calls.ts';

/** The calls that a known peer may have open on one connection. */
const maxConcurrentStreams = 4096;

export interface GrpcServer {
  /** The address of the listener, as host:port. */
  readonly address: string;
  /** Accepts no new calls, waits for running ones, and aborts them after `timeoutMs`. */
  readonly stop: (timeoutMs: number) => Promise<void>;
}

export interface GrpcServerOptions {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** Guarded services. */
  readonly services: readonly ServiceImplSpec[];
  /** Messages of other callers are not read. Undefined when all callers are known. */
  readonly isKnownCaller?: IsKnownCaller | undefined;
  /** The largest message of each caller. By default, known callers have the same limit. */
  readonly maxBytesOf?: MaxBytesOfCaller | undefined;
  /** Whether a method, by its path, is open to anyone. Then other callers may send small messages. */
  readonly isOpen?: (path: string) => boolean;
  readonly tls?: ServerTls | undefined;
  /** The time between two pings of a connection; that of `pings` by default. */
  readonly pingEveryMs?: number;
  readonly logger: Logger;
}

/**
 * Serves protobuf-es service implementations on grpc-js, which is several times faster than connect-node's gRPC.
 * @throws when the port is not available.
 */
export async function startGrpcServer({
  host,
  port,
  services,
  isKnownCaller = () => true,
  maxBytesOf = (...caller) => (isKnownCaller(...caller) ? maxMessageBytes : maxUnknownCallerBytes),
  isOpen = () => false,
  tls,
  pingEveryMs = pings.everyMs,
  logger,
}: GrpcServerOptions): Promise<GrpcServer> {
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': maxOpen.ofConnection,
    // Closes the connection of a peer that does not answer a ping, because its machine or network is lost.
    'grpc.keepalive_time_ms': pingEveryMs,
    'grpc.keepalive_timeout_ms': pings.answerWithinMs,
    interceptors: [
      unknownCalls({
        maxBytesOf: (metadata, call) => maxBytesOf(authorizationOf(metadata), peerOf(call)),
        maxBytesOfServer: maxMessageBytes,
        isOpen,
      }),
    ],
  });
  setHttp2Options(server);
  for (const spec of services) server.addService(definitionOf(spec), implementationOf(spec, logger));
  const boundPort = await new Promise<number>((resolve, reject) => {
    server.bindAsync(
      `${host.includes(':') ? `[${host}]` : host}:${port}`,
      serverCredentials(tls?.files, { asksClients: tls?.asksClients === true }),
      (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      },
    );
  });
  const http2Server = http2ServerOf(server);
  if (tls !== undefined) {
    watchHandshakes(http2Server, { logger, listener: 'gRPC' });
    http2Server.prependListener('secureConnection', rememberExpired);
  }
  limitUnknownCallers(http2Server, { isKnownCaller, maxConcurrentStreams, logger, listener: 'gRPC' });
  limitUnreadBytes(http2Server, { logger, listener: 'gRPC' });
  http2Server.prependListener('session', pingWhileClosing);
  http2Server.prependListener('stream', shortenTimeout);
  http2Server.prependListener('stream', explainTransportErrors);
  const sockets = openSocketsOf(http2Server);
  return { address: `${host}:${boundPort}`, stop: (timeoutMs) => drainServer(server, sockets, timeoutMs) };
}

const isEmitter = (value: unknown): value is EventEmitter => value instanceof EventEmitter;

/** grpc-js reports no connection before its handshake has ended, so its own HTTP/2 server is asked. @throws when this version has none there */
function http2ServerOf(server: Server): EventEmitter {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  const own: unknown = servers instanceof Map ? servers.keys().next().value : undefined;
  if (!isEmitter(own))
    throw new Error('this version of grpc-js does not keep its HTTP/2 servers where they are expected');
  return own;
}

/**
 * grpc-js creates its HTTP/2 servers with fixed options and has no public way to add these. So they are added to its internal options.
 * @throws when this version has no such options. The problem then shows at the start, and not in an overload.
 */
function setHttp2Options(server: Server): void {
  const http2Options: unknown = Reflect.get(server, 'commonServerOptions');
  if (typeof http2Options !== 'object' || http2Options === null)
    throw new Error('this version of grpc-js does not keep its HTTP/2 options where they are expected');
  Object.assign(http2Options, streamResetLimits, { handshakeTimeout: handshakeTimeoutMs });
}

/**
 * Shortens a timeout that is longer than Node's timers. grpc-js would compute a wrong deadline, and end the call at once.
 * The header has at most 8 digits and a unit (gRPC over HTTP/2, "Requests").
 */
function shortenTimeout(_stream: unknown, headers: IncomingHttpHeaders): void {
  const [, digits, unit = ''] = /^(\d{1,8})([HMS])$/.exec(String(headers['grpc-timeout'])) ?? [];
  const seconds = Number(digits) * (secondsOf[unit] ?? 0);
  if (seconds * 1000 > longestTimerMs) headers['grpc-timeout'] = `${Math.floor(longestTimerMs / 1000)}S`;
}

const secondsOf: Readonly<Record<string, number>> = { H: 3600, M: 60, S: 1 };

async function drainServer(server: Server, sockets: ReadonlySet<Socket>, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      for (const socket of sockets) socket.destroy();
    }, timeoutMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function authorizationOf(metadata: Metadata): string | null {
  const [value] = metadata.get('authorization');
  return typeof value === 'string' ? value : null;
}
