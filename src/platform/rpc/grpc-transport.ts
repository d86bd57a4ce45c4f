import { create, fromBinary } from '@bufbuild/protobuf';
import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { StreamResponse, Transport, UnaryResponse } from '@connectrpc/connect';
import { Client, Metadata } from '@grpc/grpc-js';
import type { CallOptions, ClientDuplexStream, ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { StatusSchema } from '../../gen/google/rpc/status_pb.js';
import { defaultDeadlineMs, maxMessageBytes } from './call-limits.ts';
import { activeSpan, activeTraceparent, runInSpan } from '../tracing/span.ts';
import type { Span } from '../tracing/span.ts';
import type { CertificateFiles } from '../tls/certificate-files.ts';
import { channelCredentials } from './grpc-credentials.ts';
import { pings } from './closing-pings.ts';
import { connectWithin } from './connection-limit.ts';
import { encodeMessage } from './message-bytes.ts';
import { renewClient } from './renewed-client.ts';
import type { RenewedClient } from './renewed-client.ts';
import { fromStatus, nameOfCode, reasonOf } from './rpc-error.ts';
import { untilConnected } from './until-connected.ts';
import { untilDrained } from './until-drained.ts';

export interface GrpcTransportOptions {
  /** The servers: host:port each, or one dns:///host:port. Calls are balanced over all of them. */
  readonly addresses: readonly string[];
  /** The service token of the calls; empty when the certificate names the role. */
  readonly token: string;
  /** Undefined to call without TLS. */
  readonly tls?: CertificateFiles | undefined;
  /** Methods that create an object at each call. A retry after a lost answer could create it twice. */
  readonly notRepeatable: readonly DescMethod[];
  /** The interval in which the name of the servers is resolved again. Servers that were added get calls within two of them. */
  readonly renewAfterMs?: number;
  /** The time that a connection may take until it can be used. Then it is given up, and another is tried. 10 s by default. */
  readonly connectWithinMs?: number;
  /** The time between two pings of a connection with calls; that of `pings` by default. */
  readonly pingEveryMs?: number;
  /** How long a call waits for an unavailable server, in milliseconds. It does not wait longer than its deadline. */
  readonly serverWaitMs?: number;
}

const defaultRenewAfterMs = 15_000;
const defaultConnectWithinMs = 10_000;
/** As long as a server needs to start and to be found. */
const defaultServerWaitMs = 3_000;
/** The time of a call that has waited for a server until its deadline. */
const shortestCallMs = 1_000;

export interface GrpcTransport extends Transport {
  /** Accepts no new calls, and closes the connections when the running calls have ended. */
  readonly close: () => void;
}

/**
 * Calls are balanced over all available servers. A call whose server exits is retried on another, unless its work could be
 * done twice. A call that was never sent is always retried.
 */
const serviceConfig = (notRepeatable: readonly DescMethod[]): string =>
  JSON.stringify({
    loadBalancingConfig: [{ round_robin: {} }],
    methodConfig: [
      { name: notRepeatable.map(({ parent, name }) => ({ service: parent.typeName, method: name })) },
      {
        name: [{}],
        retryPolicy: {
          maxAttempts: 4,
          initialBackoff: '0.05s',
          maxBackoff: '1s',
          backoffMultiplier: 3,
          retryableStatusCodes: ['UNAVAILABLE'],
        },
      },
    ],
  });

/** A Connect transport over grpc-js: `createClient(OrderService, createGrpcTransport(…))` gives typed clients. */
export function createGrpcTransport({
  addresses,
  token,
  tls,
  notRepeatable,
  renewAfterMs = defaultRenewAfterMs,
  connectWithinMs = defaultConnectWithinMs,
  pingEveryMs = pings.everyMs,
  serverWaitMs = defaultServerWaitMs,
}: GrpcTransportOptions): GrpcTransport {
  const target = targetOf(addresses);
  const credentials = channelCredentials(tls);
  const options = {
    'grpc.service_config': serviceConfig(notRepeatable),
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    // http_proxy is for external hosts. A proxy must not see the token for our own servers.
    'grpc.enable_http_proxy': 0,
    // Reconnect to a restarted core before the calls that wait for it fail, not after the default of up to two minutes.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 500,
    // The connection to a core that hangs, or whose machine is lost, stays open. So a core must answer pings during calls.
    'grpc.keepalive_time_ms': pingEveryMs,
    'grpc.keepalive_timeout_ms': pings.answerWithinMs,
    [connectWithin]: connectWithinMs,
  };
  const clients = renewClient(() => new Client(target, credentials, options), renewAfterMs);
  const metadataOf = (header: unknown): Metadata => {
    const metadata = new Metadata();
    new Headers(header as Record<string, string>).forEach((value, name) => metadata.set(name, value));
    if (token !== '') metadata.set('authorization', `Bearer ${token}`);
    const traceparent = activeTraceparent();
    if (traceparent !== '') metadata.set('traceparent', traceparent);
    return metadata;
  };
  return {
    unary: (method, signal, timeoutMs, header, input) =>
      inCallSpan(method, () =>
        awaitServer({ clients, method, timeoutMs, notRepeatable, serverWaitMs }, (client, leftMs) =>
          callUnary(client, method, signal, leftMs, metadataOf(header), input),
        ),
      ),
    stream: (method, signal, timeoutMs, header, input) =>
      callStream(clients.current(), method, signal, timeoutMs, metadataOf(header), input),
    close: clients.close,
  };
}

function targetOf(addresses: readonly string[]): string {
  const [first = '', ...others] = addresses;
  if (first.startsWith('dns:')) return first;
  // The DNS resolver accepts one name. Literal addresses can be a list.
  if (others.length === 0) return `dns:///${first}`;
  const literal = addresses.map((address) => address.replace(/^localhost:/, '127.0.0.1:'));
  return `${first.startsWith('[') ? 'ipv6' : 'ipv4'}:${literal.join(',')}`;
}

const pathOf = (method: DescMethodUnary | DescMethodStreaming): string =>
  `/${method.parent.typeName}/${method.name}`;

interface CallToServer extends Required<Pick<GrpcTransportOptions, 'notRepeatable' | 'serverWaitMs'>> {
  readonly clients: RenewedClient;
  readonly method: DescMethodUnary;
  readonly timeoutMs: number | undefined;
}

/** A call in a span of its own, when the caller has one. */
function inCallSpan<Response>(method: DescMethodUnary, call: () => Promise<Response>): Promise<Response> {
  const name = `${method.parent.typeName}/${method.name}`;
  const above = activeSpan();
  if (above?.context.isSampled !== true) return call();
  const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': name };
  return untilAnswered(above.begin(name, { kind: 'client', attributes }), call);
}

/** Makes a call in a span, and ends the span with the status code of the answer. */
async function untilAnswered<Response>(span: Span, call: () => Promise<Response>): Promise<Response> {
  try {
    const response = await runInSpan(span, call);
    span.set({ 'rpc.response.status_code': 'OK' });
    span.end();
    return response;
  } catch (error) {
    const code = nameOfCode(ConnectError.from(error).code);
    span.set({ 'rpc.response.status_code': code.toUpperCase() });
    span.end(code);
    throw error;
  }
}

/**
 * Makes a call. If no server is connected, for example because the only one restarts, waits for one and makes the call again. A call that
 * must not be repeated fails at once. grpc-js itself tries again for 0.6 s only.
 */
async function awaitServer<Response>(
  { clients, method, timeoutMs = defaultDeadlineMs, notRepeatable, serverWaitMs }: CallToServer,
  call: (client: Client, leftMs: number) => Promise<Response>,
): Promise<Response> {
  // Not by the machine's clock: if that were set back meanwhile, the call would wait longer.
  const begunMs = performance.now();
  const elapsedMs = (): number => performance.now() - begunMs;
  try {
    return await call(clients.current(), timeoutMs);
  } catch (error) {
    if (notRepeatable.includes(method) || !isConnectionLost(error)) throw error;
    const deadline = new Date(Date.now() + Math.min(serverWaitMs, timeoutMs) - elapsedMs());
    if (!(await untilConnected(clients.current().getChannel(), deadline))) throw error;
    const leftMs = Math.max(timeoutMs - elapsedMs(), Math.min(timeoutMs, shortestCallMs));
    return call(clients.current(), leftMs);
  }
}

/** Whether the call failed without an answer, and not by an error of the server. */
const isConnectionLost = (error: unknown): boolean =>
  error instanceof ConnectError && error.code === Code.Unavailable && reasonOf(error) === undefined;

function callUnary<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodUnary<I, O>,
  signal: AbortSignal | undefined,
  timeoutMs: number,
  metadata: Metadata,
  input: MessageInitShape<I>,
): Promise<UnaryResponse<I, O>> {
  return new Promise((resolve, reject) => {
    const header = new Headers();
    const call = client.makeUnaryRequest<MessageShape<I>, MessageShape<O>>(
      pathOf(method),
      (message) => encodeMessage(method.input, message),
      (bytes) => fromBinary(method.output, bytes),
      create(method.input, input),
      metadata,
      { deadline: Date.now() + timeoutMs },
      (error, message) => {
        signal?.removeEventListener('abort', cancel);
        if (error !== null) reject(connectErrorOf(error));
        else if (message === undefined) reject(new ConnectError('the server sent no message', Code.Internal));
        else
          resolve({ stream: false, service: method.parent, method, header, trailer: new Headers(), message });
      },
    );
    const cancel = (): void => call.cancel();
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
  });
}

async function callStream<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodStreaming<I, O>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  metadata: Metadata,
  input: AsyncIterable<MessageInitShape<I>>,
): Promise<StreamResponse<I, O>> {
  const call = await startStream(
    client,
    method,
    metadata,
    timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
    input,
  );
  const cancel = (): void => call.cancel();
  if (signal?.aborted === true) cancel();
  else signal?.addEventListener('abort', cancel, { once: true });
  async function* messages(): AsyncIterable<MessageShape<O>> {
    try {
      for await (const message of call) yield message as MessageShape<O>;
    } catch (error) {
      throw isServiceError(error) ? connectErrorOf(error) : error;
    } finally {
      signal?.removeEventListener('abort', cancel);
      call.cancel();
    }
  }
  const message = messages();
  return {
    stream: true,
    service: method.parent,
    method,
    header: new Headers(),
    trailer: new Headers(),
    message,
  };
}

async function startStream<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodStreaming<I, O>,
  metadata: Metadata,
  options: CallOptions,
  input: AsyncIterable<MessageInitShape<I>>,
): Promise<ClientReadableStream<MessageShape<O>>> {
  const encode = (message: MessageShape<I>): Buffer => encodeMessage(method.input, message);
  const decode = (bytes: Buffer): MessageShape<O> => fromBinary(method.output, bytes);
  switch (method.methodKind) {
    case 'server_streaming': {
      const first = await input[Symbol.asyncIterator]().next();
      if (first.done === true)
        throw new ConnectError('the call has no request message', Code.InvalidArgument);
      const request = create(method.input, first.value);
      return client.makeServerStreamRequest(pathOf(method), encode, decode, request, metadata, options);
    }
    case 'bidi_streaming': {
      const call = client.makeBidiStreamRequest(pathOf(method), encode, decode, metadata, options);
      void sendAll(call, method.input, input);
      return call;
    }
    case 'client_streaming':
      throw new ConnectError('this transport does not support client streaming', Code.Unimplemented);
  }
}

/** Sends the caller's messages as fast as the server accepts them. An error from the caller's source ends the call. */
async function sendAll<I extends DescMessage>(
  call: ClientDuplexStream<MessageShape<I>, unknown>,
  schema: I,
  input: AsyncIterable<MessageInitShape<I>>,
): Promise<void> {
  try {
    for await (const message of input) {
      if (!call.write(create(schema, message))) await untilDrained(call, 'status');
    }
    call.end();
  } catch {
    call.cancel();
  }
}

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && 'details' in error && 'metadata' in error;

function connectErrorOf(error: ServiceError): ConnectError {
  const [details] = error.metadata.get('grpc-status-details-bin');
  if (Buffer.isBuffer(details)) return fromStatus(fromBinary(StatusSchema, details));
  if (!isCode(error.code)) return new ConnectError(invalidStatus, Code.Unknown);
  return new ConnectError(error.details, error.code, undefined, undefined, error);
}

/** The message that grpc-js creates for such a status is `NaN undefined: `. */
const invalidStatus =
  'the response has no valid gRPC status; the connection was damaged, or another program listens at the address';

/** gRPC and Connect use the same numbers for status codes, except for OK, which is not an error. */
const isCode = (code: number): code is Code => code in Code;
