import { on } from 'node:events';
import type { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { create, fromBinary } from '@bufbuild/protobuf';
import type { DescMessage, Message, MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues, createHandlerContext } from '@connectrpc/connect';
import type { HandlerContext, MethodImplSpec, ServiceImplSpec } from '@connectrpc/connect';
import { Metadata } from '@grpc/grpc-js';
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
import { peerCertificateKey } from '../tls/peer-certificate.ts';
import { defaultDeadlineMs, longestTimerMs } from './call-limits.ts';
import { callerOf } from './grpc-peer.ts';
import { encodeMessage } from './message-bytes.ts';
import { encodeStatus, rpcError, toStatus } from './rpc-error.ts';
import { untilDrained } from './until-drained.ts';

/** The methods of a service, as grpc-js reads and writes their messages. */
export function definitionOf({ service, methods }: ServiceImplSpec): ServiceDefinition {
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

/** The methods of a service, as grpc-js calls them. */
export function implementationOf({ methods }: ServiceImplSpec, logger: Logger): UntypedServiceImplementation {
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
 * Reads the messages by events instead of the stream's own iterator. The iterator destroys the stream if the call fails while it waits.
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

function remainingMs(deadline: Date | number): number | undefined {
  const at = deadline instanceof Date ? deadline.getTime() : deadline;
  return Number.isFinite(at) ? Math.min(Math.max(0, at - Date.now()), longestTimerMs) : undefined;
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
