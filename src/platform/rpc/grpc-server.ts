import { EventEmitter, on } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { create, fromBinary } from '@bufbuild/protobuf';
import type { DescMessage, Message, MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues, createHandlerContext } from '@connectrpc/connect';
import type { HandlerContext, MethodImplSpec, ServiceImplSpec } from '@connectrpc/connect';
import { Metadata, Server } from '@grpc/grpc-js';
import type {
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedServiceImplementation,
  handleBidiStreamingCall,
  handleClientStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
} from '@grpc/grpc-js';
import type { Logger } from '../logger.ts';
import { handshakeTimeoutMs } from '../tls/server-tls.ts';
import type { ServerTls } from '../tls/server-tls.ts';
import {
  expiredPeerCertificate,
  hasExpiredCertificate,
  noPeerCertificate,
  peerCertificateKey,
  verifiedPeer,
} from '../tls/peer-certificate.ts';
import type { PeerCertificate } from '../tls/peer-certificate.ts';
import { watchHandshakes } from '../tls/watch-handshakes.ts';
import { serverCredentials } from './grpc-credentials.ts';
import { maxUnknownCallerBytes } from './known-caller.ts';
import type { IsKnownCaller, MaxBytesOfCaller } from './known-caller.ts';
import { encodeMessage } from './message-bytes.ts';
import { encodeStatus, rpcError, toStatus } from './rpc-error.ts';
import { openSocketsOf } from './open-sockets.ts';
import { streamResetLimits } from './stream-resets.ts';
import { limitStrangers, maxOpen } from './limit-strangers.ts';
import { explainTransportErrors } from './grpc-transport-errors.ts';
import { unknownCalls } from './unknown-calls.ts';
import { untilDrained } from './until-drained.ts';

/** The largest message that is received or sent. A full batch of the largest orders is smaller. */
export const maxMessageBytes = 4 * 1024 * 1024;

/** The calls that a known peer may have open on one connection. */
const maxConcurrentStreams = 4096;

/** The deadline of a call that has none. */
export const defaultDeadlineMs = 30_000;

/** The longest delay of Node's timers. A longer one fires at once. */
const longestTimerMs = 2 ** 31 - 1;

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
  logger,
}: GrpcServerOptions): Promise<GrpcServer> {
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': maxOpen.ofConnection,
    // Closes the connection of a peer that does not answer a ping, because its machine or network is lost.
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 5_000,
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
  limitStrangers(http2Server, { isKnownCaller, maxConcurrentStreams, logger, listener: 'gRPC' });
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

function definitionOf({ service, methods }: ServiceImplSpec): ServiceDefinition {
  const entries = Object.values(methods).map(({ method }) => {
    const streams = {
      requestStream: method.methodKind !== 'unary' && method.methodKind !== 'server_streaming',
      responseStream: method.methodKind !== 'unary' && method.methodKind !== 'client_streaming',
    };
    const definition = {
      path: `/${service.typeName}/${method.name}`,
      ...streams,
      // The handler decodes the message, because only it knows the caller.
      requestDeserialize: (bytes: Buffer): Buffer => bytes,
      requestSerialize: (message: Message): Buffer => encodeMessage(method.input, message),
      responseDeserialize: (bytes: Buffer): Message => fromBinary(method.output, bytes),
      responseSerialize: (message: Message): Buffer => encodeMessage(method.output, message),
    };
    return [method.name, definition] as const;
  });
  return Object.fromEntries(entries);
}

function implementationOf({ methods }: ServiceImplSpec, logger: Logger): UntypedServiceImplementation {
  return Object.fromEntries(
    Object.values(methods).map((spec) => [spec.method.name, callHandler(spec, logger)]),
  );
}

type AnyHandler =
  | handleUnaryCall<Buffer, Message>
  | handleClientStreamingCall<Buffer, Message>
  | handleServerStreamingCall<Buffer, Message>
  | handleBidiStreamingCall<Buffer, Message>;

function callHandler(spec: MethodImplSpec, logger: Logger): AnyHandler {
  const input = (bytes: Buffer): Message => decodeMessage(spec.method.input, bytes);
  const output = (init: MessageInit): Message => create(spec.method.output, init);
  type Reply = Parameters<handleUnaryCall<Buffer, Message>>[1];
  // grpc-js does not catch errors of a handler. So every error, including one while reading the call, becomes its status.
  const answerWithOneMessage = (
    answer: (context: HandlerContext) => Promise<MessageInit> | MessageInit,
    call: AnyCall,
    reply: Reply,
  ): void => {
    withContext(call, spec, answer)
      .then((response) => reply(null, output(response)))
      .catch((error: unknown) => reply(statusOf(error)))
      .catch((error: unknown) => logger.error({ err: error }, 'a call could not be answered'));
  };
  const pump = async (
    answer: (context: HandlerContext) => AsyncIterable<MessageInit>,
    call: WritableCall,
  ): Promise<void> => {
    try {
      await withContext(call, spec, (context) => writeAll(answer(context), call, output));
    } catch (error) {
      if (!call.cancelled) call.emit('error', statusOf(error));
      else logger.debug({ err: error }, 'a stream ended after its caller had disconnected');
    }
  };
  switch (spec.kind) {
    case 'unary': {
      const handler: handleUnaryCall<Buffer, Message> = (call, reply) => {
        answerWithOneMessage((context) => spec.impl(input(call.request), context), call, reply);
      };
      return handler;
    }
    case 'client_streaming': {
      const handler: handleClientStreamingCall<Buffer, Message> = (call, reply) => {
        answerWithOneMessage((context) => spec.impl(messagesOf(call, input), context), call, reply);
      };
      return handler;
    }
    case 'server_streaming': {
      const handler: handleServerStreamingCall<Buffer, Message> = (call) => {
        void pump((context) => spec.impl(input(call.request), context), call);
      };
      return handler;
    }
    case 'bidi_streaming': {
      const handler: handleBidiStreamingCall<Buffer, Message> = (call) => {
        void pump((context) => spec.impl(messagesOf(call, input), context), call);
      };
      return handler;
    }
  }
}

/**
 * The abort reason for code that still works for an ended call: it was answered, or its caller has disconnected. grpc-js reports a
 * disconnect after every answer. It is created once, because creating an error costs more than an answer.
 */
const callIsOver = new ConnectError('the call is over', Code.Canceled);

/** Answers a call within its context, and aborts remaining work for it after the answer. */
async function withContext<Answer>(
  call: AnyCall,
  spec: MethodImplSpec,
  answer: (context: HandlerContext) => Promise<Answer> | Answer,
): Promise<Answer> {
  const context = contextOf(call, spec);
  try {
    return await answer(context);
  } finally {
    context.abort(callIsOver);
  }
}

type MessageInit = MessageInitShape<DescMessage>;

/** @throws INVALID_ARGUMENT INVALID_FIELDS for bytes that are no such message */
function decodeMessage(schema: DescMessage, bytes: Buffer): Message {
  try {
    return fromBinary(schema, bytes);
  } catch (error) {
    throw rpcError('INVALID_FIELDS', `the bytes are not a valid ${schema.typeName}`, { cause: error });
  }
}

type WritableCall = ServerWritableStream<Buffer, Message> | ServerDuplexStream<Buffer, Message>;
type AnyCall =
  | ServerUnaryCall<Buffer, Message>
  | ServerReadableStream<Buffer, Message>
  | ServerWritableStream<Buffer, Message>
  | ServerDuplexStream<Buffer, Message>;

/**
 * Reads the messages by events instead of the stream's own iterator. That iterator destroys the stream if the call fails while it waits.
 * Then the status is never sent, and the caller waits for ever.
 */
async function* messagesOf(call: Readable, input: (bytes: Buffer) => Message): AsyncIterable<Message> {
  const marks = { highWaterMark: 16, lowWaterMark: 4 };
  for await (const [message] of on(call, 'data', { ...marks, close: ['end', 'close'] }))
    yield input(message as Buffer);
}

function contextOf(call: AnyCall, { method }: MethodImplSpec) {
  const cancelled = new AbortController();
  const emitter: EventEmitter = call;
  emitter.once('cancelled', () => cancelled.abort(callIsOver));
  const timeoutMs =
    remainingMs(call.getDeadline()) ?? (method.methodKind === 'unary' ? defaultDeadlineMs : undefined);
  return createHandlerContext({
    service: method.parent,
    method,
    protocolName: 'grpc',
    requestMethod: 'POST',
    url: call.getPath(),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    requestSignal: cancelled.signal,
    requestHeader: headersOf(call.metadata),
    contextValues: createContextValues().set(peerCertificateKey, callerOf(call)),
  });
}

/** The open connections with an expired client certificate, as `getPeer` names them. */
const expiredPeers = new Set<string>();

function rememberExpired(socket: TLSSocket): void {
  if (!hasExpiredCertificate(socket)) return;
  const peer = `${socket.remoteAddress}:${socket.remotePort}`;
  expiredPeers.add(peer);
  socket.once('close', () => expiredPeers.delete(peer));
}

/** grpc-js gives the certificate only if one of our authorities signed it. */
function peerOf(call: Pick<AnyCall, 'getAuthContext'>): PeerCertificate {
  const { sslPeerCertificate } = call.getAuthContext();
  return sslPeerCertificate === undefined
    ? noPeerCertificate
    : verifiedPeer(sslPeerCertificate.subjectaltname);
}

function callerOf(call: AnyCall): PeerCertificate {
  const peer = peerOf(call);
  return !peer.isVerified && expiredPeers.has(call.getPeer()) ? expiredPeerCertificate : peer;
}

function remainingMs(deadline: Date | number): number | undefined {
  const at = deadline instanceof Date ? deadline.getTime() : deadline;
  return Number.isFinite(at) ? Math.min(Math.max(0, at - Date.now()), longestTimerMs) : undefined;
}

function authorizationOf(metadata: Metadata): string | null {
  const [value] = metadata.get('authorization');
  return typeof value === 'string' ? value : null;
}

function headersOf(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(metadata.getMap())) {
    if (typeof value === 'string') headers.set(name, value);
  }
  return headers;
}

async function writeAll(
  responses: AsyncIterable<MessageInit>,
  call: WritableCall,
  output: (init: MessageInit) => Message,
): Promise<void> {
  for await (const response of responses) {
    if (call.cancelled) return;
    if (!call.write(output(response))) await untilDrained(call, 'cancelled');
  }
  call.end();
}

/** An error in the form that grpc-js sends: code, message, and the details as google.rpc.Status in the trailer. */
function statusOf(thrown: unknown): Error & { code: number; details: string; metadata: Metadata } {
  const error = ConnectError.from(thrown);
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', encodeStatus(toStatus(error)));
  return Object.assign(new Error(error.rawMessage), {
    code: error.code,
    details: error.rawMessage,
    metadata,
  });
}
