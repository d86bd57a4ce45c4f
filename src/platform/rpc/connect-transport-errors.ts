import type { DescMethod, JsonWriteOptions } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node';
import {
  compressedFlag,
  createAsyncIterable,
  encodeEnvelope,
  readAllBytes,
} from '@connectrpc/connect/protocol';
import type { Compression, UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol';
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
import { maxMessageBytes } from './call-limits.ts';
import { transportError } from './transport-error.ts';

type JsonOptions = Partial<JsonWriteOptions>;

/**
 * Adds a reason to every error that connect-node itself answers, such as an unreadable message. connect-node calls no interceptor for these
 * errors. So the answers of each protocol are completed as they are sent.
 */
export function explainTransportErrors(handle: UniversalHandler, json: JsonOptions): UniversalHandler {
  const answer = async (request: Parameters<UniversalHandler>[0]): Promise<UniversalServerResponse> => {
    const response = await handle(request);
    const { body, trailer } = response;
    const type = response.header?.get('content-type') ?? '';
    if (body === undefined) return answerForStatus(response, handle.method, json);
    if (response.status !== 200) return { ...response, ...(await completeUnary(response, body, json)) };
    if (trailer !== undefined && type.startsWith('application/grpc'))
      return { ...response, body: thenComplete(body, trailer) };
    if (!enveloped.test(type)) return response;
    const encoding =
      response.header?.get('connect-content-encoding') ?? response.header?.get('grpc-encoding');
    return { ...response, body: completeLast(body, json, compressionOf(encoding)) };
  };
  return Object.assign(answer, handle);
}

/** Protocols whose trailers are a part of the body. */
const enveloped = /^application\/(?:connect\+|grpc-web)/;

/** The compressions that connect-node supports. It also compresses long errors, for example one that quotes a field of the request. */
const compressions = [compressionGzip, compressionBrotli];
/** The size limit of an error. An error that quotes the request can be longer than the largest request, above all if the text is not valid. */
const maxErrorBytes = 4 * maxMessageBytes;
const compressionOf = (encoding: string | null | undefined): Compression | undefined =>
  compressions.find(({ name }) => name === encoding);

/** The error with a reason; undefined for an error that already has one. */
function withReason(error: ConnectError | undefined): ConnectError | undefined {
  if (error === undefined || error.details.length > 0) return undefined;
  return transportError(error.code, error.rawMessage);
}

/** The answer to a request that connect-node answers with only an HTTP status. */
function answerForStatus(
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
  if (status === 405) headers.set('allow', 'POST');
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
  const bytes = await readAllBytes(body, maxErrorBytes);
  const compression = compressionOf(headers.get('content-encoding'));
  const plain = compression === undefined ? bytes : await compression.decompress(bytes, maxErrorBytes);
  const error = withReason(errorFromJsonBytes(plain, undefined, new ConnectError('', Code.Unknown)));
  if (error === undefined) return { status, header: headers, body: createAsyncIterable([bytes]) };
  const complete = errorToJsonBytes(error, json);
  headers.delete('content-encoding');
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
  const error = withReason(findTrailerError(trailer));
  if (error !== undefined) setTrailerStatus(trailer, error);
  return error !== undefined;
}

/** Each chunk is an envelope: a byte of flags, four bytes of length, and the data. */
async function* completeLast(
  body: AsyncIterable<Uint8Array>,
  json: JsonOptions,
  compression: Compression | undefined,
): AsyncIterable<Uint8Array> {
  for await (const chunk of body) yield (await completeEnvelope(chunk, json, compression)) ?? chunk;
}

async function completeEnvelope(
  envelope: Uint8Array,
  json: JsonOptions,
  compression: Compression | undefined,
): Promise<Uint8Array | undefined> {
  const flags = envelope[0] ?? 0;
  const kind = flags & ~compressedFlag;
  if (kind !== trailerFlag && kind !== endStreamFlag) return undefined;
  const bytes = envelope.subarray(5);
  const data =
    flags === kind || compression === undefined ? bytes : await compression.decompress(bytes, maxErrorBytes);
  if (kind === trailerFlag) {
    const trailer = trailerParse(data);
    return completeTrailer(trailer) ? encodeEnvelope(trailerFlag, trailerSerialize(trailer)) : undefined;
  }
  const { metadata, error: sent } = endStreamFromJson(data);
  const error = withReason(sent);
  if (error === undefined) return undefined;
  return encodeEnvelope(endStreamFlag, createEndStreamSerialization(json).serialize({ metadata, error }));
}
