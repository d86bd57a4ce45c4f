import type { DescMethodStreaming, DescMethodUnary } from '@bufbuild/protobuf';
import type { ConnectError, Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { describe, expect, test } from '@jest/globals';
import { WebhookEndpointService } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { roles } from '../../../src/contract/roles.ts';
import type { Role } from '../../../src/contract/roles.ts';
import { describeFailure } from '../../support/rpc-failure.ts';
import { sharedWebhookDesk } from './webhook-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedWebhookDesk(stack);

// The rights of each role, written by hand, so that a change of rights must be made in two places.
const methods = { ...WebhookService.method, ...WebhookEndpointService.method };
type MethodName = keyof typeof methods;
const open: Readonly<Record<MethodName, readonly Role[]>> = {
  listSigningSecrets: ['dashboard', 'operator', 'reader'],
  rotateSigningSecret: ['dashboard', 'operator'],
  promoteSigningSecret: ['dashboard', 'operator'],
  listDeliveries: ['dashboard', 'operator', 'reader'],
  getDelivery: ['dashboard', 'operator', 'reader'],
  getOrderDeliveries: ['dashboard', 'operator', 'reader'],
  explainOrderDeliveries: ['facade', 'dashboard', 'operator', 'reader'],
  explainDelivery: ['dashboard', 'operator', 'reader'],
  redeliverDelivery: ['dashboard', 'operator'],
  startRedelivery: ['dashboard', 'operator'],
  getRedelivery: ['dashboard', 'operator', 'reader'],
  sendTestEvent: ['dashboard', 'operator'],
  listEndpoints: ['dashboard', 'operator', 'reader'],
  pauseEndpoint: ['dashboard', 'operator'],
  resumeEndpoint: ['dashboard', 'operator'],
  listenToSandboxEvents: ['operator'],
  getPipelineStatus: ['dashboard', 'operator', 'reader'],
  createWebhookEndpoint: ['dashboard', 'operator'],
  listWebhookEndpoints: ['dashboard', 'operator', 'reader'],
  getWebhookEndpoint: ['dashboard', 'operator', 'reader'],
  updateWebhookEndpoint: ['dashboard', 'operator'],
  pauseWebhookEndpoint: ['dashboard', 'operator'],
  resumeWebhookEndpoint: ['dashboard', 'operator'],
  deleteWebhookEndpoint: ['dashboard', 'operator'],
  rotateWebhookEndpointSecret: ['dashboard', 'operator'],
  promoteWebhookEndpointSecret: ['dashboard', 'operator'],
  testWebhookEndpoint: ['dashboard', 'operator'],
};

/** Calls with an empty request. A caller with access gets the missing fields or an answer. */
async function verdict(transport: Transport, name: MethodName): Promise<string> {
  const method: DescMethodUnary | DescMethodStreaming = methods[name];
  try {
    if (method.methodKind === 'unary') await transport.unary(method, undefined, 10_000, undefined, {});
    else {
      const { message } = await transport.stream(method, undefined, 10_000, undefined, once({}));
      await message[Symbol.asyncIterator]().next();
    }
    return 'allowed';
  } catch (error) {
    const { code, reason } = describeFailure(error as ConnectError);
    return code === 'PermissionDenied' || code === 'Unauthenticated' ? String(reason) : 'allowed';
  }
}

async function* once<T>(message: T): AsyncIterable<T> {
  yield message;
}

test('the table has a row for every method', () => {
  expect(Object.keys(open).sort()).toEqual(Object.keys(methods).sort());
});

/** Both protocols, each with a connection of its own that ends with the call. */
const protocols: Readonly<Record<string, (token: string, method: MethodName) => Promise<string>>> = {
  async gRPC(token, method) {
    const transport = createGrpcTransport({ addresses: [desk.grpcAddress], token });
    const said = await verdict(transport, method);
    transport.close();
    return said;
  },
  Connect: (token, method) =>
    verdict(
      createConnectTransport({
        baseUrl: desk.connectUrl,
        httpVersion: '1.1',
        nodeOptions: { agent: false },
        interceptors: [
          (next) => (request) => {
            request.header.set('authorization', `Bearer ${token}`);
            return next(request);
          },
        ],
      }),
      method,
    ),
};

describe.each(Object.keys(open) as MethodName[])('%s', (method) => {
  test.each(Object.entries(protocols))(
    'over %s allows its roles, and denies other roles and calls without a token',
    async (_protocol, call) => {
      const said = await Promise.all(
        roles.map(async (role) => [role, await call(stack.tokens[role], method)] as const),
      );
      expect(Object.fromEntries(said)).toEqual(
        Object.fromEntries(
          roles.map((role) => [role, open[method].includes(role) ? 'allowed' : 'ROLE_NOT_ALLOWED']),
        ),
      );
      expect(await call('00112233445566778899aabbccddeeff', method)).toBe('INVALID_SERVICE_TOKEN');
    },
  );
});
