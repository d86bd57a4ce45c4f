import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../src/gen/health/v1/health_pb.js';
import { failureOf } from '../../support/rpc-failure.ts';
import { plainGrpcClient } from './rpc-clients.ts';
import type { PlainGrpcClient, PlainMessage } from './rpc-clients.ts';
import { sharedStack, shared } from '../../support/shared-stack.ts';

const stack = sharedStack({ facades: 0 });
const closed = ({ close }: PlainGrpcClient): void => close();
const anyone = shared(async () => plainGrpcClient(stack.addresses[0]!), closed);
const reader = shared(async () => plainGrpcClient(stack.addresses[0]!, stack.tokens.reader), closed);

/** The services that reflection names. access.test.ts compares them with what core should serve. */
async function servedServices(version = 'grpc.reflection.v1'): Promise<string[]> {
  const [answer] = await reader.exchange(`${version}.ServerReflection`, 'ServerReflectionInfo', [
    { list_services: '' },
  ]);
  const { service } = answer!['list_services_response'] as { service: { name: string }[] };
  return service.map(({ name }) => name).sort();
}

describe('grpc.health.v1, without a token', () => {
  const health = 'grpc.health.v1.Health';

  test.each(['', health, 'gatehouse.v1.OrderService'])('check of "%s" is SERVING', async (service) => {
    const { response } = await anyone.call(health, 'Check', { service });
    expect(response).toEqual({ status: 'SERVING' });
  });

  test('check of a service this process does not serve is NOT_FOUND', async () => {
    const { error } = await anyone.call(health, 'Check', { service: 'gatehouse.v1.WebhookService' });
    expect(error).toMatchObject({ code: 5, info: { domain: 'gatehouse' } });
  });

  test.each([
    ['reader', { status: 'SERVING' }],
    ['facade', undefined],
  ])(
    'check of a reader that expects the role %s is answered only if it has that role',
    async (role, answer) => {
      const headers = { authorization: `Bearer ${stack.tokens.reader}`, 'x-gatehouse-role': role };

      const { response, error } = await anyone.call(health, 'Check', { service: '' }, { headers });

      expect(response).toEqual(answer);
      expect(error?.info?.['reason']).toBe(answer === undefined ? 'ROLE_NOT_ALLOWED' : undefined);
    },
  );

  test('list names every service', async () => {
    const { response } = await anyone.call(health, 'List', {});
    const statuses = response?.['statuses'] as Record<string, PlainMessage>;
    const withHealth = (await servedServices()).filter((name) => !name.startsWith('grpc.reflection.'));
    expect(Object.keys(statuses).sort()).toEqual(['', ...withHealth]);
    expect(new Set(Object.values(statuses).map(({ status }) => status))).toEqual(new Set(['SERVING']));
  });

  test.each([
    ['', 'SERVING'],
    ['gatehouse.v1.OrderService', 'SERVING'],
    ['gatehouse.v1.WebhookService', 'SERVICE_UNKNOWN'],
  ])('watch of "%s" begins with %s', async (service, status) => {
    const watch = anyone.stream(health, 'Watch', { service });
    for await (const message of watch) {
      expect(message).toEqual({ status });
      break;
    }
    watch.cancel();
  });

  test('check and watch answer the same over Connect', async () => {
    const client = createClient(
      Health,
      createConnectTransport({
        baseUrl: stack.connectUrl,
        httpVersion: '1.1',
        nodeOptions: { agent: false },
      }),
    );
    expect(await client.check({})).toMatchObject({ status: ServingStatus.SERVING });
    expect(await failureOf(client.check({ service: 'nothing' }))).toMatchObject({ code: 'NotFound' });
    for await (const { status } of client.watch({})) {
      expect(status).toBe(ServingStatus.SERVING);
      break;
    }
  });

  test('a watcher receives NOT_SERVING when the process begins to stop', async () => {
    const core = await stack.startCore();
    const client = plainGrpcClient(String(core.ready['grpc']));
    const statuses: unknown[] = [];
    let stopped: Promise<number | null> | undefined;
    const watching = (async () => {
      for await (const { status } of client.stream(
        'grpc.health.v1.Health',
        'Watch',
        {},
      ) as AsyncIterable<PlainMessage>) {
        statuses.push(status);
        if (statuses.length === 1) stopped = core.stop();
      }
    })();
    await expect(watching).rejects.toMatchObject({ code: 14 });
    client.close();
    expect(statuses).toEqual(['SERVING', 'NOT_SERVING']);
    expect(await stopped).toBe(0);
  });
});

const reflectionVersions = ['grpc.reflection.v1', 'grpc.reflection.v1alpha'];

describe.each(reflectionVersions)('%s', (version) => {
  const reflection = `${version}.ServerReflection`;
  const ask = async (request: PlainMessage): Promise<PlainMessage> => {
    const [answer] = await reader.exchange(reflection, 'ServerReflectionInfo', [request]);
    return answer!;
  };
  const filesIn = (answer: PlainMessage): string[] => {
    const { file_descriptor_proto: files } = answer['file_descriptor_response'] as {
      file_descriptor_proto: Buffer[];
    };
    return files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
  };

  test('lists every service', async () => {
    const served = await servedServices(version);
    expect(served).toEqual(await servedServices());
    expect(served).toEqual(expect.arrayContaining(['gatehouse.v1.OrderService', reflection]));
  });

  test.each([
    ['a service', 'gatehouse.v1.OrderService', 'gatehouse/v1/order_service.proto'],
    ['a method', 'gatehouse.v1.OrderService.WatchOrderEvents', 'gatehouse/v1/order_service.proto'],
    ['a message', 'gatehouse.v1.OrderEvent', 'gatehouse/v1/order.proto'],
    ['a field', 'gatehouse.v1.OrderEvent.sequence', 'gatehouse/v1/order.proto'],
    ['a oneof', 'gatehouse.v1.GetOrderRequest.key', 'gatehouse/v1/order_service.proto'],
    ['an enum', 'gatehouse.v1.OrderStatus', 'gatehouse/v1/order.proto'],
    ['a value of an enum', 'gatehouse.v1.ORDER_STATUS_PENDING', 'gatehouse/v1/order.proto'],
    ['a nested enum', 'grpc.health.v1.HealthCheckResponse.ServingStatus', 'health/v1/health.proto'],
    ['a value of a nested enum', 'grpc.health.v1.HealthCheckResponse.SERVING', 'health/v1/health.proto'],
    ['an imported message', 'google.protobuf.Timestamp', 'google/protobuf/timestamp.proto'],
    ['a detail of errors', 'google.rpc.ErrorInfo', 'google/rpc/error_details.proto'],
  ])('returns the file of %s before the files that it imports', async (_kind, symbol, file) => {
    const files = filesIn(await ask({ file_containing_symbol: symbol }));
    expect(files[0]).toBe(file);
    expect(new Set(files).size).toBe(files.length);
  });

  const options = 'google.protobuf.FieldOptions';

  test('returns the file of an extension', async () => {
    const extension = { containing_type: options, extension_number: 50001 };
    const files = filesIn(await ask({ file_containing_extension: extension }));
    expect(files[0]).toBe('gatehouse/v1/display_text.proto');
  });

  test.each([
    [options, [50001]],
    ['gatehouse.v1.Order', []],
  ])('lists the extensions of %s', async (extended, numbers) => {
    expect(await ask({ all_extension_numbers_of_type: extended })).toMatchObject({
      all_extension_numbers_response: { base_type_name: extended, extension_number: numbers },
    });
  });

  test.each([
    ['an undeclared symbol', { file_containing_symbol: 'gatehouse.v1.Voucher' }],
    [
      'a method that the service does not have',
      { file_containing_symbol: 'gatehouse.v1.OrderService.Refund' },
    ],
    ['the empty symbol', { file_containing_symbol: '' }],
    ['the name of a JavaScript property', { file_containing_symbol: '__proto__' }],
    ['an unknown file', { file_by_filename: 'gatehouse/v1/refund.proto' }],
    [
      'an undeclared extension',
      { file_containing_extension: { containing_type: options, extension_number: 1 } },
    ],
    ['extensions of an undeclared message', { all_extension_numbers_of_type: 'gatehouse.v1.Voucher' }],
    ['extensions of an enum', { all_extension_numbers_of_type: 'gatehouse.v1.OrderStatus' }],
  ])('answers NOT_FOUND for %s, and the stream continues', async (_what, request) => {
    const answers = await reader.exchange(reflection, 'ServerReflectionInfo', [
      request,
      { file_by_filename: 'gatehouse/v1/order.proto' },
    ]);
    expect(answers[0]).toMatchObject({ error_response: { error_code: 5 } });
    expect(filesIn(answers[1]!)[0]).toBe('gatehouse/v1/order.proto');
  });
});
