import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:http2';
import type { ClientSessionOptions, OutgoingHttpHeaders } from 'node:http2';
import { resolve } from 'node:path';
import { Client, Metadata, credentials } from '@grpc/grpc-js';
import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { MessageTypeDefinition, ServiceDefinition } from '@grpc/proto-loader';

// Clients that share no code with Gatehouse. What they can read, any program can read.

const root = resolve(import.meta.dirname, '../../..');

const contract = 'proto/gatehouse/v1';
const services = readdirSync(resolve(root, contract)).filter((file) => file.endsWith('_service.proto'));
const definitions = loadSync(
  services
    .map((file) => `gatehouse/v1/${file}`)
    .concat(['google/rpc/error_details.proto', 'google/rpc/status.proto', 'health/v1/health.proto'])
    .concat(['v1', 'v1alpha'].map((version) => `grpc/reflection/${version}/reflection.proto`)),
  {
    includeDirs: [
      'proto',
      'node_modules/google-proto-files',
      'node_modules/grpc-health-check/proto',
      'node_modules/@grpc/reflection/build/proto',
    ].map((folder) => resolve(root, folder)),
    ...{ keepCase: true, longs: String, enums: String, defaults: true, oneofs: true },
  },
);

/** A message as @grpc/proto-loader gives it: names as in the .proto files. */
export type PlainMessage = Record<string, unknown>;

export interface PlainError {
  readonly code: number;
  readonly message: string;
  /** google.rpc.ErrorInfo. */
  readonly info: PlainMessage | undefined;
  /** google.rpc.BadRequest's violations. */
  readonly violations: readonly { readonly field: string; readonly description: string }[];
}

/** The result of a call: a response or an error, never both. */
export type PlainOutcome =
  | { readonly response: PlainMessage; readonly error?: never }
  | { readonly response?: never; readonly error: PlainError };

export interface PlainCallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

type PlainCall = [service: string, method: string, request: object, options?: PlainCallOptions];

export interface PlainGrpcClient {
  readonly call: (...call: PlainCall) => Promise<PlainOutcome>;
  readonly stream: (...call: PlainCall) => ClientReadableStream<PlainMessage>;
  /** Sends all requests, half-closes, and returns all responses. */
  readonly exchange: (
    ...call: [service: string, method: string, requests: readonly object[], options?: PlainCallOptions]
  ) => Promise<PlainMessage[]>;
  readonly close: () => void;
}

/** @grpc/grpc-js with the .proto files read at run time, as in any Node service. */
export function plainGrpcClient(address: string, token?: string): PlainGrpcClient {
  const client = new Client(address, credentials.createInsecure());
  const metadataOf = ({ headers = {} }: PlainCallOptions): Metadata => {
    const metadata = new Metadata();
    if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return metadata;
  };
  const deadlineOf = ({ timeoutMs = 20_000 }: PlainCallOptions) => ({ deadline: Date.now() + timeoutMs });
  return {
    call: (service, method, request, options = {}) =>
      new Promise((done) => {
        const { path, requestSerialize, responseDeserialize } = methodOf(service, method);
        client.makeUnaryRequest<object, object>(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          metadataOf(options),
          deadlineOf(options),
          (error, response) =>
            done(error === null ? { response: response as PlainMessage } : { error: readError(error) }),
        );
      }),
    stream: (service, method, request, options = {}) => {
      const { path, requestSerialize, responseDeserialize } = methodOf(service, method);
      return client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize as (bytes: Buffer) => PlainMessage,
        request,
        metadataOf(options),
        deadlineOf(options),
      );
    },
    exchange: async (service, method, requests, options = {}) => {
      const { path, requestSerialize, responseDeserialize } = methodOf(service, method);
      const call = client.makeBidiStreamRequest<object, object>(
        path,
        requestSerialize,
        responseDeserialize,
        metadataOf(options),
        deadlineOf(options),
      );
      for (const request of requests) call.write(request);
      call.end();
      const responses: PlainMessage[] = [];
      for await (const response of call) responses.push(response as PlainMessage);
      return responses;
    },
    close: () => client.close(),
  };
}

/** A request in the form of the body of a gRPC call, for tests that write the body themselves. */
export function grpcFrame(service: string, method: string, request: object): Buffer {
  const message = methodOf(service, method).requestSerialize(request);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** A valid registration, with the names of the .proto file. */
export const plainOrder = (own: PlainMessage): PlainMessage => ({
  environment: 'ENVIRONMENT_SANDBOX',
  amount: '7.25',
  currency: 'USD',
  reason: 'Tea',
  customer_phone: '+251911223344',
  return_url: 'https://shop.example/return',
  ...own,
});

/** A call over gRPC whose bytes the test writes itself. */
export function openGrpcCall(
  host: string,
  method: string,
  headers: OutgoingHttpHeaders = {},
  options: ClientSessionOptions = {},
) {
  const session = connect(`http://${host}`, options);
  const call = session.request({
    ':method': 'POST',
    ':path': `/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  for (const each of [session, call]) each.on('error', () => undefined);
  const status = async (): Promise<unknown> => {
    const [answer] = (await once(call, 'response')) as [Record<string, unknown>];
    // The call may still be open on this side.
    session.destroy();
    return answer['grpc-status'];
  };
  return { session, call, status };
}

/** The methods of a service, such as `gatehouse.v1.OrderService/GetOrder`. */
export const methodNamesOf = (service: string): string[] =>
  Object.values(definitions[service] as ServiceDefinition).map(({ path }) => path.slice(1));

export function methodNamed(name: string) {
  const [service = '', method = ''] = name.split('/');
  return methodOf(service, method);
}

function methodOf(service: string, method: string) {
  const definition = (definitions[service] as ServiceDefinition)[method];
  if (definition === undefined) throw new Error(`the .proto files have no ${service}/${method}`);
  return definition;
}

const read = (type: string, bytes: Buffer): PlainMessage =>
  (definitions[type] as MessageTypeDefinition<object, PlainMessage>).deserialize(bytes);

/** Code, message and the decoded details of a gRPC error. */
export function readError(error: ServiceError): PlainError {
  const [trailer] = error.metadata.get('grpc-status-details-bin');
  if (!Buffer.isBuffer(trailer))
    return { code: error.code, message: error.details, info: undefined, violations: [] };
  return readStatus(read('google.rpc.Status', trailer));
}

/** A google.rpc.Status with its details decoded: from a trailer or from an item of a batch. */
export function readStatus(status: PlainMessage): PlainError {
  const details = (status['details'] as { type_url: string; value: Buffer }[]).map(({ type_url, value }) => ({
    type: type_url.replace('type.googleapis.com/', ''),
    value,
  }));
  const decode = (type: string): PlainMessage | undefined => {
    const found = details.find((detail) => detail.type === type);
    return found === undefined ? undefined : read(type, found.value);
  };
  return {
    code: status['code'] as number,
    message: status['message'] as string,
    info: decode('google.rpc.ErrorInfo'),
    violations: (decode('google.rpc.BadRequest')?.['field_violations'] ?? []) as PlainError['violations'],
  };
}

export interface CurlAnswer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `buf curl`, which learns the contract from the server by reflection. */
export function bufCurl(args: readonly string[]): Promise<CurlAnswer> {
  return new Promise((done) => {
    execFile(
      process.execPath,
      [resolve(root, 'node_modules/.bin/buf'), 'curl', ...args],
      { cwd: root },
      (error, stdout, stderr) => done({ exitCode: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}
