import { gzipSync } from 'node:zlib';
import { Client, Metadata, credentials } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { describe, expect, test } from '@jest/globals';
import { shared, sharedStack } from '../../support/shared-stack.ts';
import { readError, readStatus } from './rpc-clients.ts';

// Errors of grpc-js and connect-node themselves, as clients receive them that share no code with Gatehouse.

const stack = sharedStack({ facades: 0 });
const service = 'gatehouse.v1.OrderService';
const garbage = Buffer.from([0xff, 0xff, 0xff]);
const tooLarge = Buffer.alloc(4 * 1024 * 1024 + 1);

const grpc = {
  'the gRPC port': shared(
    async () => new Client(stack.addresses[0]!, credentials.createInsecure()),
    (client) => client.close(),
  ),
  'the Connect port': shared(
    async () => new Client(new URL(stack.connectUrl).host, credentials.createInsecure()),
    (client) => client.close(),
  ),
};

function failureOverGrpc(
  port: keyof typeof grpc,
  method: string,
  body: Buffer,
  headers: Record<string, string> = {},
) {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries({
    authorization: `Bearer ${stack.tokens.operator}`,
    ...headers,
  }))
    metadata.set(name, value);
  return new Promise((done) => {
    const same = (bytes: Buffer): Buffer => bytes;
    grpc[port].makeUnaryRequest(
      `/${service}/${method}`,
      same,
      same,
      body,
      metadata,
      (error: ServiceError | null) => done(error === null ? undefined : readError(error)),
    );
  });
}

describe.each(['the gRPC port', 'the Connect port'] as const)(
  'a gRPC client of %s reads the reason',
  (port) => {
    test.each([
      ['an unknown method', 'NoSuchMethod', Buffer.alloc(0), 12, 'NOT_IMPLEMENTED', 'NoSuchMethod'],
      ['a message that cannot be read', 'GetOrder', garbage, 3, 'INVALID_FIELDS', 'valid'],
      ['a message that is too large', 'GetOrder', tooLarge, 8, 'MESSAGE_TOO_LARGE', 'fewer items'],
      [
        'a stream with a message that cannot be read',
        'WatchOrderEvents',
        garbage,
        3,
        'INVALID_FIELDS',
        'valid',
      ],
    ])('of %s', async (_name, method, body, code, reason, text) => {
      expect(await failureOverGrpc(port, method, body)).toMatchObject({
        code,
        message: expect.stringContaining(text),
        info: { reason, domain: 'gatehouse' },
      });
    });
  },
);

describe('a Connect client reads the reason', () => {
  const post = async (
    method: string,
    body: Buffer | string,
    headers: Record<string, string>,
    verb = 'POST',
  ) => {
    const response = await fetch(`${stack.connectUrl}/${service}/${method}`, {
      method: verb,
      headers: { authorization: `Bearer ${stack.tokens.operator}`, ...headers },
      ...(verb === 'GET' ? {} : { body: new Uint8Array(Buffer.from(body)) }),
    });
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
  };
  const read = (json: string) => {
    const { code, message, details } = JSON.parse(json) as {
      code: string;
      message: string;
      details: { type: string; value: string }[];
    };
    const sent = details.map(({ type, value }) => ({ type_url: type, value: Buffer.from(value, 'base64') }));
    return { ...readStatus({ code: 0, message, details: sent }), code };
  };
  const proto = { 'content-type': 'application/proto' };
  const json = { 'content-type': 'application/json' };

  test.each([
    [
      'bytes that are no message',
      'GetOrder',
      garbage,
      proto,
      400,
      'invalid_argument',
      'INVALID_FIELDS',
      'valid',
    ],
    [
      'JSON with an unknown field',
      'GetOrder',
      '{"x":1}',
      json,
      400,
      'invalid_argument',
      'INVALID_FIELDS',
      '"x"',
    ],
    ['text that is no JSON', 'GetOrder', '{"x"', json, 400, 'invalid_argument', 'INVALID_FIELDS', 'JSON'],
    [
      'a body that is not compressed as its header says',
      'GetOrder',
      '{}',
      { ...json, 'content-encoding': 'gzip' },
      400,
      'invalid_argument',
      'INVALID_FIELDS',
      'decompression failed',
    ],
    [
      'an unknown compression',
      'GetOrder',
      '{}',
      { ...json, 'content-encoding': 'zstd' },
      501,
      'unimplemented',
      'NOT_IMPLEMENTED',
      'gzip',
    ],
    [
      'a deadline that is no number',
      'GetOrder',
      '{}',
      { ...json, 'connect-timeout-ms': 'soon' },
      400,
      'invalid_argument',
      'INVALID_FIELDS',
      'timeout',
    ],
    [
      'a body that is too large once decompressed',
      'GetOrder',
      gzipSync(Buffer.alloc(5_000_000, ' ')),
      { ...json, 'content-encoding': 'gzip' },
      429,
      'resource_exhausted',
      'MESSAGE_TOO_LARGE',
      'fewer items',
    ],
    [
      'a content type of no protocol',
      'GetOrder',
      'x',
      { 'content-type': 'text/plain' },
      415,
      'invalid_argument',
      'INVALID_FIELDS',
      'application/json',
    ],
    [
      'a stream that is called like a unary method',
      'WatchOrderEvents',
      '{}',
      json,
      415,
      'invalid_argument',
      'INVALID_FIELDS',
      'application/connect+json',
    ],
    [
      'an unknown method',
      'NoSuchMethod',
      '{}',
      json,
      404,
      'unimplemented',
      'NOT_IMPLEMENTED',
      'OrderService/NoSuchMethod',
    ],
  ])('of %s', async (_name, method, body, headers, status, code, reason, text) => {
    const answer = await post(method, body, headers);
    expect(answer.status).toBe(status);
    expect(read(answer.body.toString())).toMatchObject({
      code,
      message: expect.stringContaining(text),
      info: { reason, domain: 'gatehouse' },
    });
  });

  test('of a GET of a method that changes something', async () => {
    const answer = await post('RegisterOrder', '', {}, 'GET');
    expect(answer.status).toBe(405);
    expect(read(answer.body.toString())).toMatchObject({
      message: 'the HTTP method must be POST',
      info: { reason: 'INVALID_FIELDS' },
    });
  });

  const envelope = (data: Buffer): Buffer => Buffer.concat([Buffer.from([0, 0, 0, 0, data.length]), data]);

  test('of a stream whose message cannot be read', async () => {
    const headers = { 'content-type': 'application/connect+proto' };
    const { body } = await post('WatchOrderEvents', envelope(garbage), headers);
    expect(body[0]).toBe(2);
    const { error } = JSON.parse(body.subarray(5).toString()) as { error: object };
    expect(read(JSON.stringify(error))).toMatchObject({
      code: 'invalid_argument',
      info: { reason: 'INVALID_FIELDS' },
    });
  });

  test('over gRPC-Web', async () => {
    const headers = { 'content-type': 'application/grpc-web+proto' };
    const { body } = await post('GetOrder', envelope(garbage), headers);
    expect(body[0]).toBe(0x80);
    const trailer = body.subarray(5).toString();
    expect(trailer).toContain('grpc-status: 3');
    expect(trailer).toContain('grpc-status-details-bin: ');
  });
});
