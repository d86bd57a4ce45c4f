import type { DescMethod, JsonWriteOptions } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { createAsyncIterable, encodeEnvelope, readAllBytes } from '@connectrpc/connect/protocol';
import type { UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol';
import {
  codeToHttpStatus,
  createEndStreamSerialization,
  endStreamFlag,
  endStreamFromJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect';
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { trailerFlag, trailerParse, trailerSerialize } from '@connectrpc/connect/protocol-grpc-web';
import { maxMessageBytes } from './grpc-server.ts';
import { transportError } from './transport-error.ts';

type JsonOptions = Partial<JsonWriteOptions>;

/**
 * Gives every error that connect-node itself answers a reason. It calls no interceptor for these, such as a message that cannot be read, so
 * the answers of each protocol are completed as they are sent.
 */
export function explainTransportErrors(handle: UniversalHandler, json: JsonOptions): UniversalHandler {
  const answer = async (request: Parameters<UniversalHandler>[0]): Promise<UniversalServerResponse> => {
    const response = await handle(request);
    const { body, trailer } = response;
    const type = response.header?.get('content-type') ?? '';
    if (body === undefined) return refused(response, handle.method, json);
    if (response.status !== 200) return { ...response, ...(await completeUnary(response, body, json)) };
    if (trailer !== undefined && type.startsWith('application/grpc'))
      return { ...response, body: thenComplete(body, trailer) };
    return enveloped.test(type) ? { ...response, body: completeLast(body, json) } : response;
  };
  return Object.assign(answer, handle);
}

/** Protocols whose trailers are a part of the body. */
const enveloped = /^application\/(?:connect\+|grpc-web)/;

/** The error with a reason; undefined for one that has it. */
function completed(error: ConnectError | undefined): ConnectError | undefined {
  if (error === undefined || error.details.length > 0) return undefined;
  return transportError(error.code, error.rawMessage);
}

/** An answer of connect-node that is a status of HTTP and nothing else. */
function refused(
  { status, header }: UniversalServerResponse,
  method: DescMethod,
  json: JsonOptions,
): UniversalServerResponse {
  const type = method.methodKind === 'unary' ? 'application/' : 'application/connect+';
  const [code, advice] =
    status === 415
      ? [Code.InvalidArgument, `the Content-Type must be ${type}json, ${type}proto or one of gRPC`]
      : status === 405
        ? [Code.InvalidArgument, 'the HTTP method must be POST']
        : [Code.Unimplemented, 'this method needs HTTP/2'];
  const headers = new Headers(header);
  headers.set('content-type', 'application/json');
  const body = errorToJsonBytes(transportError(code, advice), json);
  return { status, header: headers, body: createAsyncIterable([body]) };
}

/** The answer to a call of a method that does not exist. */
export function unknownMethod(path: string, contentType: string, json: JsonOptions): UniversalServerResponse {
  const error = transportError(Code.Unimplemented, `the server does not implement the method ${path}`);
  if (contentType.startsWith('application/grpc')) {
    const header = new Headers({ 'content-type': contentType });
    const trailer = setTrailerStatus(new Headers(), error);
    if (!contentType.startsWith('application/grpc-web')) return { status: 200, header, trailer };
    const body = encodeEnvelope(trailerFlag, trailerSerialize(trailer));
    return { status: 200, header, body: createAsyncIterable([body]) };
  }
  const header = new Headers({ 'content-type': 'application/json' });
  return { status: 404, header, body: createAsyncIterable([errorToJsonBytes(error, json)]) };
}

async function completeUnary(
  { status, header }: UniversalServerResponse,
  body: AsyncIterable<Uint8Array>,
  json: JsonOptions,
): Promise<UniversalServerResponse> {
  const headers = new Headers(header);
  const bytes = await readAllBytes(body, maxMessageBytes);
  // An error so long that it is compressed has details.
  const unread = new ConnectError('', Code.Unknown);
  const sent = headers.has('content-encoding') ? undefined : errorFromJsonBytes(bytes, undefined, unread);
  const error = completed(sent);
  if (error === undefined) return { status, header: headers, body: createAsyncIterable([bytes]) };
  const complete = errorToJsonBytes(error, json);
  headers.set('content-length', String(complete.byteLength));
  return {
    status: codeToHttpStatus(error.code),
    header: headers,
    body: createAsyncIterable([complete]),
  };
}

/** gRPC's trailer is complete when the body has ended. */
async function* thenComplete(body: AsyncIterable<Uint8Array>, trailer: Headers): AsyncIterable<Uint8Array> {
  yield* body;
  completeTrailer(trailer);
}

function completeTrailer(trailer: Headers): boolean {
  const error = completed(findTrailerError(trailer));
  if (error !== undefined) setTrailerStatus(trailer, error);
  return error !== undefined;
}

/** Each chunk is an envelope: a byte of flags, four bytes of length, and the data. */
async function* completeLast(body: AsyncIterable<Uint8Array>, json: JsonOptions): AsyncIterable<Uint8Array> {
  for await (const chunk of body) yield completeEnvelope(chunk, json) ?? chunk;
}

function completeEnvelope(envelope: Uint8Array, json: JsonOptions): Uint8Array | undefined {
  const data = envelope.subarray(5);
  if (envelope[0] === trailerFlag) {
    const trailer = trailerParse(data);
    return completeTrailer(trailer) ? encodeEnvelope(trailerFlag, trailerSerialize(trailer)) : undefined;
  }
  if (envelope[0] !== endStreamFlag) return undefined;
  const { metadata, error: sent } = endStreamFromJson(data);
  const error = completed(sent);
  if (error === undefined) return undefined;
  return encodeEnvelope(endStreamFlag, createEndStreamSerialization(json).serialize({ metadata, error }));
}
