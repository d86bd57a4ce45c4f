import { randomUUID } from 'node:crypto';
import { Code, createClient } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  Health,
} from '../../../src/gen/health/v1/health_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { deadAddress } from '../../e2e/cli-harness.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { startInline } from '../../support/inline-process.ts';
import { registration } from '../../support/order-requests.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { bufCurl } from '../core/rpc-clients.ts';
import { answer, startReceiver } from './receivers.ts';
import type { Behaviour, Receiver } from './receivers.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';
import { queryOnce } from '../../support/database-connections.ts';

const cleanUps = closersOfEachTest();

async function openStack(webhooks: number): Promise<Stack> {
  const stack = await startStack({ facades: 0, webhooks });
  cleanUps.push(stack.stop);
  return stack;
}

async function openReceiver(behaviour?: Behaviour): Promise<Receiver> {
  const receiver = await startReceiver(behaviour);
  cleanUps.push(receiver.close);
  return receiver;
}

/** A webhooks process of a stack, with settings of its own. */
async function startWith(
  stack: Stack,
  settings: Readonly<Record<string, string>>,
): Promise<GatehouseProcess> {
  const started = await startInline('webhooks', { ...stack.webhookSettings, ...settings });
  cleanUps.push(() => started.stop());
  return started;
}

/** Orders that end at once, by default of a new merchant. */
async function endOrders(stack: Stack, count: number, webhookUrl: string, merchant?: string): Promise<void> {
  const orders = stack.client(OrderService, 'writer');
  const merchantId = merchant ?? (await stack.createMerchant({ signsWebhooks: true })).id;
  for (let index = 0; index < count; index += 1)
    await orders.registerOrder(
      registration({ merchantId, orderNumber: `N-${index}-${randomUUID()}`, webhookUrl }),
    );
  await queryOnce(
    stack.databaseUrl,
    `update core.orders set expires_at = now(), sweep_at = now() where status = 'PENDING'`,
  );
}

const deliveredTo = (receiver: Receiver, count: number): Promise<boolean> =>
  waitUntil(`${count} orders have been told of`, () => {
    const ids = receiver.webhooks.map(({ headers }) => headers['webhook-id']);
    return new Set(ids).size >= count;
  });

test('without core the process starts, sends ingested events, and continues when core is available', async () => {
  const stack = await openStack(0);
  const receiver = await openReceiver(answer(503));
  const first = await startWith(stack, {});
  const { id: merchantId } = await stack.createMerchant();
  const owner = { merchantId, environment: Environment.SANDBOX };
  await stack.webhookClient('operator', first).rotateSigningSecret(owner);
  await endOrders(stack, 1, receiver.origin, merchantId);
  await waitUntil('it has been refused', () => receiver.webhooks.length > 0);
  await first.stop();
  receiver.behave(answer(200));

  const alone = await startWith(stack, { GATEHOUSE_CORE_ADDRESSES: await deadAddress() });
  await waitUntil('it is delivered', () => alone.log.some(({ result }) => result === 'DELIVERED'));
  await endOrders(stack, 1, receiver.origin, merchantId);
  await alone.stop();
  await startWith(stack, {});

  await deliveredTo(receiver, 2);
});

test('its listeners serve health, reflection and WebhookService to those with a token, over gRPC and Connect', async () => {
  const stack = await openStack(1);
  const { ready } = stack.webhooks[0] ?? {};
  const transport = createGrpcTransport({ addresses: [String(ready?.['grpc'])], token: '' });
  cleanUps.push(async () => transport.close());

  const { status } = await createClient(Health, transport).check({ service: WebhookService.typeName });
  const post = (request: RequestInit) =>
    fetch(`http://${String(ready?.['connect'])}/${WebhookService.typeName}/GetPipelineStatus`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${stack.tokens.reader}` },
      ...request,
    });
  const overConnect = await post({ body: '{}' });
  const tooLarge = await post({ body: new Blob(['x'.repeat(8 * 1024 * 1024)]).stream(), duplex: 'half' });
  const described = await Promise.all(
    [ready?.['grpc'], ready?.['connect']].map((address) =>
      bufCurl([
        ...['--http2-prior-knowledge', '--protocol', 'grpc', '--reflect-header', '*'],
        ...['-H', `authorization: Bearer ${stack.tokens.reader}`],
        `http://${String(address)}/${WebhookService.typeName}/GetPipelineStatus`,
      ]),
    ),
  );

  expect(status).toBe(ServingStatus.SERVING);
  expect(tooLarge.headers.get('connection')).toBe('close');
  expect(await tooLarge.json()).toMatchObject({ code: 'resource_exhausted' });
  expect(described.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
    Array.from({ length: 2 }, () => ({ exitCode: 0, stderr: '' })),
  );
  await expect(createClient(WebhookService, transport).getPipelineStatus({})).rejects.toMatchObject({
    code: Code.Unauthenticated,
  });
  expect(overConnect.status).toBe(200);
});
