import { createServer as createHttp1Server, IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createHttp2Server } from 'node:http2';
import type { ServerHttp2Session } from 'node:http2';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createRegistry } from '@bufbuild/protobuf';
import { createContextValues, createHandlerContext } from '@connectrpc/connect';
import type { ConnectRouter, MethodImplSpec, ServiceImplSpec } from '@connectrpc/connect';
import { errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { connectNodeAdapter, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.js';
import { answersBeforeBody } from '../http/answer-before-body.ts';
import { httpProblemOf } from '../http/http-problem.ts';
import { httpTimeoutsMs } from '../http/http-timeouts.ts';
import { boundParsing, handleInTurn } from '../http/requests-in-turn.ts';
import type { Logger } from '../logger.ts';
import { bytesOfPage } from '../metrics.ts';
import type { Page } from '../metrics.ts';
import { peerCertificateKey, peerOfSocket, roleOfCertificate } from '../tls/peer-certificate.ts';
import type { PeerCertificate } from '../tls/peer-certificate.ts';
import { handshakeTimeoutMs, http2Tls } from '../tls/server-tls.ts';
import type { ServerTls } from '../tls/server-tls.ts';
import { watchHandshakes } from '../tls/watch-handshakes.ts';
import { deadlineWithinTimer } from './deadline-within-timer.ts';
import { defaultDeadlineMs, maxMessageBytes } from './call-limits.ts';
import { maxUnknownCallerBytes, unknownCallerAdvice } from './known-caller.ts';
import type { IsKnownCaller, MaxBytesOfCaller } from './known-caller.ts';
import { openSocketsOf } from './open-sockets.ts';
import { rpcError } from './rpc-error.ts';
import { streamResetLimits } from './stream-resets.ts';
import { limitUnknownCallers, maxOpen } from './limit-unknown-callers.ts';
import { limitUnreadBytes } from './limit-unread-bytes.ts';
import { explainTransportErrors, unknownMethod } from './connect-transport-errors.ts';

export interface ConnectServer {
  /** The address of the listener, as host:port. */
  readonly address: string;
  /** Accepts no new calls, waits for running ones, and aborts them after `timeoutMs`. */
  readonly stop: (timeoutMs: number) => Promise<void>;
}

export interface ConnectServerOptions {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** Guarded services. */
  readonly services: readonly ServiceImplSpec[];
  /** Tells known callers from others, whose large messages are refused before they are decoded. Undefined when all callers are known. */
  readonly isKnownCaller?: IsKnownCaller | undefined;
  /** The largest message of each caller. By default, known callers have the same limit. */
  readonly maxBytesOf?: MaxBytesOfCaller | undefined;
  /** Served to any GET of their path without a token, by its Accept header. They must not contain secrets or a merchant's data. */
  readonly pages?: Readonly<Record<`/${string}`, (accept: string | undefined) => Promise<Page>>>;
  readonly tls?: ServerTls | undefined;
  readonly logger: Logger;
}

/** The calls that a known peer may have open on one connection. */
const maxConcurrentStreams = 1024;
/** The number of clients that may leave a page unread. A page is far larger than any other answer to an unknown caller. */
const maxUnreadPages = 64;
/** The first bytes of an HTTP/2 connection with prior knowledge (RFC 9113, section 3.4). */
const http2Preface = Buffer.from('PRI * HTTP/2.0');
/** A connection is closed if its protocol, headers or settings have not arrived after this time. */
const greetingTimeoutMs = 10_000;
/** A peer on a lost machine never closes its connection. The kernel detects this with keep-alive probes. */
const tcpKeepAlive = { keepAlive: true, keepAliveInitialDelay: 60_000 };

/**
 * Serves Connect, gRPC-Web and gRPC over HTTP/1.1 and cleartext HTTP/2 on one port. Node's HTTP/2 server speaks no
 * HTTP/1.1 without TLS. So the first bytes of a connection decide which of two servers gets it.
 * @throws when the port is not available.
 */
export async function startConnectServer(options: ConnectServerOptions): Promise<ConnectServer> {
  const { host, port, isKnownCaller, tls, logger } = options;
  const handler = requestHandler(options);
  const sessions = new Set<ServerHttp2Session>();
  const http2 = createHttp2Server(
    {
      settings: {
        maxConcurrentStreams: isKnownCaller === undefined ? maxConcurrentStreams : maxOpen.ofConnection,
      },
      ...streamResetLimits,
    },
    handler,
  );
  if (isKnownCaller !== undefined)
    limitUnknownCallers(http2, { isKnownCaller, maxConcurrentStreams, logger, listener: 'Connect' });
  limitUnreadBytes(http2, { logger, listener: 'Connect' });
  http2.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.setTimeout(greetingTimeoutMs, () => session.destroy());
    session.once('remoteSettings', () => session.setTimeout(0));
  });
  // The HTTP/1.1 server listens, because only then does Node enforce its connections' timeouts and know which are idle.
  // It serves a connection only when the first bytes have shown that the connection is HTTP/1.1.
  const http1Options = {
    ...answersBeforeBody,
    requestTimeout: defaultDeadlineMs,
    headersTimeout: httpTimeoutsMs.headers,
    keepAliveTimeout: httpTimeoutsMs.keepAlive,
    connectionsCheckingInterval: httpTimeoutsMs.check,
    // A request without it is refused below, like every other request head that is not valid HTTP.
    requireHostHeader: false,
    ...tcpKeepAlive,
  };
  const inTurn = (request: IncomingMessage, response: ServerResponse): void =>
    handleInTurn(request, response, () => handler(request, response));
  const http1 =
    tls === undefined
      ? createHttp1Server(http1Options, inTurn)
      : startedWithTls(createHttpsServer({ ...http1Options, ...tlsOptions(tls) }, inTurn), tls, logger);
  const connected = tls === undefined ? 'connection' : 'secureConnection';
  const serveHttp1 = http1.listeners(connected);
  const boundConnection = boundParsing();
  http1.removeAllListeners(connected);
  if (tls !== undefined) watchHandshakes(http1, { logger, listener: 'Connect' });
  const sockets = openSocketsOf(http1);
  http1.on(connected, (socket: Socket) => {
    socket.on('error', (error) => logger.debug({ err: error }, 'connection ended with an error'));
    chooseProtocol(socket, (isHttp2) => {
      if (isHttp2) {
        // HTTP/1.1 answers a peer that has closed its sending side. In HTTP/2 such a peer has left, and would hold its session open.
        socket.allowHalfOpen = false;
        http2.emit('connection', socket);
      } else {
        for (const serve of serveHttp1) serve.call(http1, socket);
        boundConnection(socket);
      }
    });
  });
  await new Promise<void>((resolve, reject) => {
    http1.once('error', reject);
    http1.listen(port, host, () => resolve());
  });
  const { port: boundPort } = http1.address() as AddressInfo;
  const stop = async (timeoutMs: number): Promise<void> => {
    const closed = new Promise<void>((resolve) => http1.close(() => resolve()));
    for (const session of sessions) session.close();
    const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), timeoutMs);
    // A kept-alive HTTP/1.1 connection becomes idle only after its last answer, so repeat this until none is left.
    const sweep = setInterval(() => http1.closeIdleConnections(), 100);
    await closed;
    clearTimeout(timer);
    clearInterval(sweep);
  };
  return { address: `${host}:${boundPort}`, stop };
}

type RequestHandler = ReturnType<typeof connectNodeAdapter>;
type Response = Parameters<RequestHandler>[1];

const contextOptions = ({ files }: ServerTls) => {
  const { ca, own } = files.current();
  return {
    ca,
    ...(own === undefined ? {} : { cert: own.certificate, key: own.key }),
    ...http2Tls,
  };
};

/** The guard refuses calls, because a refused handshake would not tell the client why: see `serverCredentials` for gRPC. */
const tlsOptions = (tls: ServerTls) => ({
  ...contextOptions(tls),
  ALPNProtocols: ['h2', 'http/1.1'],
  requestCert: tls.asksClients,
  rejectUnauthorized: false,
  handshakeTimeout: handshakeTimeoutMs,
});

/** Gives the server every later certificate. Open connections keep theirs. */
function startedWithTls(server: HttpsServer, tls: ServerTls, logger: Logger): HttpsServer {
  const unfollow = tls.files.onChange(() => {
    try {
      server.setSecureContext(contextOptions(tls));
    } catch (error) {
      logger.error(
        { err: error },
        'the new TLS certificates could not be used, so this server keeps the previous ones',
      );
    }
  });
  return server.once('close', unfollow);
}

function peerOf(request: Parameters<RequestHandler>[0]): PeerCertificate {
  // The session's socket is a stand-in, whose methods act on the connection.
  const socket: unknown = 'stream' in request ? request.stream.session?.socket : request.socket;
  return peerOfSocket(socket);
}

/**
 * Answers 400 to a request that HTTP forbids, and when the adapter throws. The adapter cannot read a request whose target is
 * not a URL, or which has no Host header, as HTTP/1.0 allows.
 */
function requestHandler(options: ConnectServerOptions): RequestHandler {
  const { services, isKnownCaller = () => true, pages = {}, tls, logger } = options;
  const { maxBytesOf = (...caller) => (isKnownCaller(...caller) ? maxMessageBytes : maxUnknownCallerBytes) } =
    options;
  const jsonOptions = {
    // Details of errors are Any. JSON can encode Any only for registered types.
    registry: createRegistry(file_google_rpc_error_details),
    // A misspelt field is an error, not a default. Programs use binary, which ignores unknown fields.
    ignoreUnknownFields: false,
  };
  const serveUpTo = (readMaxBytes: number): RequestHandler =>
    connectNodeAdapter({
      routes: (router) => {
        services.forEach((spec) => addRoutes(router, spec));
        const explained = router.handlers.map((handler) =>
          explainTransportErrors(deadlineWithinTimer(handler), jsonOptions),
        );
        router.handlers.splice(0, router.handlers.length, ...explained);
      },
      fallback: (request, response) => {
        const { url = '', headers } = request;
        const answer = unknownMethod(url.split('?', 1)[0] ?? '', headers['content-type'] ?? '', jsonOptions);
        universalResponseToNodeResponse(answer, response).catch((error: unknown) =>
          logger.debug({ err: error }, 'the caller of an unknown method disconnected'),
        );
      },
      contextValues: (request) => createContextValues().set(peerCertificateKey, peerOf(request)),
      readMaxBytes,
      writeMaxBytes: maxMessageBytes,
      // A timer of Node takes at most 24.8 days, and fires at once if it is set to more. The documented limit is 24 hours, but
      // clients of gRPC send a long deadline with two or three digits, and round it up.
      maxTimeoutMs: 25 * 60 * 60 * 1000,
      jsonOptions,
    });
  // By the size limit. There are only a few different limits.
  const handlers = new Map<number, RequestHandler>();
  const handlerFor = (readMaxBytes: number): RequestHandler => {
    const handler = handlers.get(readMaxBytes) ?? serveUpTo(readMaxBytes);
    handlers.set(readMaxBytes, handler);
    return handler;
  };
  const pageOf = new Map(Object.entries(pages));
  const keepUnread = limitUnread();
  return (request, response) => {
    if (request instanceof IncomingMessage) {
      const problem = httpProblemOf(request);
      if (problem !== undefined) {
        refuseRequest(response, `${problem.field} ${problem.issue}\n`);
        return;
      }
      request.url = pathAndQuery(request.url ?? '');
    }
    const page = request.method === 'GET' ? pageOf.get(request.url?.split('?')[0] ?? '') : undefined;
    if (page !== undefined) {
      const admitted =
        tls === undefined ? { role: undefined } : roleOfCertificate(peerOf(request), tls.peers);
      if ('refused' in admitted && tls?.peers.isRequired === true) {
        refuseRequest(response, `${admitted.refused}\n`, 401);
        return;
      }
      // The client may have disconnected.
      response.on('error', () => undefined);
      keepUnread(response);
      void servePage(() => page(request.headers.accept), response, logger);
      return;
    }
    const maxBytes = maxBytesOf(request.headers.authorization ?? null, peerOf(request));
    if (
      maxBytes <= maxUnknownCallerBytes &&
      Number(request.headers['content-length'] ?? 0) > maxUnknownCallerBytes
    ) {
      refuseRequest(response, unknownCallerError, 401, 'application/json');
      return;
    }
    try {
      handlerFor(maxBytes)(request, response);
    } catch (error) {
      logger.debug({ err: error }, 'not a valid RPC request');
      refuseRequest(response, 'The request target or the Host is not valid\n');
    }
  };
}

/** The path and query of a target, which may be a whole URL (RFC 9112, section 3.2.2), as clients send it to a proxy. */
const pathAndQuery = (target: string): string => {
  const url = /^https?:/i.test(target) ? URL.parse(target) : null;
  return url === null ? target : url.pathname + url.search;
};

/** As Connect writes it. A client of gRPC takes the code from the status. */
const unknownCallerError = errorToJsonBytes(
  rpcError('INVALID_SERVICE_TOKEN', unknownCallerAdvice),
  undefined,
);

/** Refuses a request. It also closes an HTTP/1.1 connection, because the bytes after the request may be misread. */
function refuseRequest(
  response: Response,
  body: string | Uint8Array,
  status = 400,
  contentType = 'text/plain; charset=utf-8',
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const close = response instanceof ServerResponse ? { connection: 'close' } : {};
  response.writeHead(status, { 'content-type': contentType, ...close });
  response.end(body);
}

/** When too many pages are unread, disconnects the client that has left its page unread for the longest time. So it cannot keep others from a page. */
function limitUnread(): (response: Response) => void {
  const unread = new Set<Response>();
  return (response) => {
    unread.add(response);
    response.once('close', () => unread.delete(response));
    const [oldest] = unread;
    if (unread.size <= maxUnreadPages || oldest === undefined) return;
    unread.delete(oldest);
    if ('stream' in oldest) oldest.stream.session?.destroy();
    else oldest.req.socket.destroy();
  };
}

async function servePage(read: () => Promise<Page>, response: Response, logger: Logger): Promise<void> {
  try {
    const page = await read();
    response.writeHead(200, { 'content-type': page.contentType, 'cache-control': 'no-store' });
    response.end(bytesOfPage(page));
  } catch (error) {
    logger.error({ err: error }, 'a page could not be served');
    if (!response.headersSent) response.writeHead(500);
    response.end();
  }
}

function addRoutes(router: ConnectRouter, { methods }: ServiceImplSpec): void {
  for (const spec of Object.values(methods)) {
    switch (spec.kind) {
      case 'unary':
        router.rpc(spec.method, withDeadline(spec.impl));
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

type UnaryImpl = Extract<MethodImplSpec, { kind: 'unary' }>['impl'];

/** Adds the default deadline to a call without one, which Connect allows. No call may wait for ever. */
function withDeadline(handle: UnaryImpl): UnaryImpl {
  return async (request, context) => {
    if (context.timeoutMs() !== undefined) return handle(request, context);
    const limited = createHandlerContext({
      ...context,
      timeoutMs: defaultDeadlineMs,
      requestSignal: context.signal,
      contextValues: context.values,
    });
    try {
      return await handle(request, limited);
    } finally {
      limited.abort();
    }
  };
}

/** Reads the first bytes of a connection, puts them back, and reports whether they begin HTTP/2. */
function chooseProtocol(socket: Socket, use: (isHttp2: boolean) => void): void {
  let seen = Buffer.alloc(0);
  socket.setTimeout(greetingTimeoutMs, () => socket.destroy());
  const readGreeting = (): void => {
    const chunk: unknown = socket.read();
    if (!Buffer.isBuffer(chunk)) return;
    seen = Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, http2Preface.length);
    const mayBeHttp2 = seen.subarray(0, length).equals(http2Preface.subarray(0, length));
    if (mayBeHttp2 && length < http2Preface.length) return;
    socket.off('readable', readGreeting);
    socket.setTimeout(0);
    socket.removeAllListeners('timeout');
    socket.unshift(seen);
    use(mayBeHttp2);
  };
  socket.on('readable', readGreeting);
}
