import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SigningSecretProblem } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { Webhook } from 'standardwebhooks';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { deadAddress } from '../../e2e/cli-harness.ts';
import { startInline } from '../../support/inline-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { registration } from '../../support/order-requests.ts';
import { sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { answer, startReceiver } from './receivers.ts';
import type { Receiver } from './receivers.ts';

let receiver: Receiver;
let merchantId: string;
const processes: GatehouseProcess[] = [];

const stack = sharedStack({ facades: 0 });
const database = sharedConnection(() => stack.databaseUrl);
beforeEach(async () => {
  receiver = await startReceiver();
  ({ id: merchantId } = await stack.createMerchant());
});

afterEach(async () => {
  await stopProcess();
  await database.query('truncate webhooks.signing_secrets');
  await receiver.close();
});

const newKey = (name: string): string => `${name}:${randomBytes(32).toString('hex')}`;

async function stopProcess(): Promise<void> {
  for (const process of processes.splice(0)) expect(await process.stop()).toBe(0);
}

/** A webhooks process with these settings, which replaces the previous one. */
async function restart(settings: Readonly<Record<string, string>> = {}): Promise<GatehouseProcess> {
  await stopProcess();
  const started = await startInline('webhooks', { ...stack.webhookSettings, ...settings });
  processes.push(started);
  return started;
}

const restartWith = (...keys: readonly string[]): Promise<GatehouseProcess> =>
  restart({ GATEHOUSE_WEBHOOK_SECRET_KEYS: keys.join(',') });

/** An order that ends at once. */
async function endOrder(orderNumber: string): Promise<void> {
  const orders = stack.client(OrderService, 'writer');
  await orders.registerOrder(registration({ merchantId, orderNumber, webhookUrl: receiver.origin }));
  await database.query(sql`
    update core.orders set expires_at = now(), sweep_at = now() where order_number = ${orderNumber}`);
}

/** Whether the webhook of an order is signed with a secret, after it has arrived. */
async function isSignedWith(secret: string, orderNumber: string): Promise<boolean> {
  const { headers, body } = await waitUntil(`${orderNumber} is told of`, () =>
    receiver.webhooks.find((webhook) => webhook.body.includes(`"${orderNumber}"`)),
  );
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return new Webhook(secret).verify(body, texts) !== undefined;
}

const metricOf = async ({ ready }: GatehouseProcess, name: string): Promise<string | undefined> => {
  const page = await (await fetch(`http://${String(ready['connect'])}/metrics`)).text();
  return new RegExp(`^${name} (.*)$`, 'm').exec(page)?.[1];
};

const makeSecret = async (process: GatehouseProcess): Promise<string> => {
  const client = stack.webhookClient('operator', process);
  return (await client.rotateSigningSecret({ merchantId, environment: Environment.SANDBOX })).secret;
};

// The replacement of the key that encrypts signing secrets: docs/operating/webhooks.md.

test('a key is replaced step by step, and the same secret signs all the time', async () => {
  const [oldKey, freshKey] = [newKey('old'), newKey('new')];
  const secret = await makeSecret(await restartWith(oldKey));
  await endOrder('K-1');
  expect(await isSignedWith(secret, 'K-1')).toBe(true);

  await restartWith(oldKey, freshKey);
  await endOrder('K-2');
  expect(await isSignedWith(secret, 'K-2')).toBe(true);

  const both = await restartWith(freshKey, oldKey);
  await waitUntil('no secret is left to encrypt anew', async () => {
    return (await metricOf(both, 'gatehouse_webhook_secrets_with_old_key')) === '0';
  });
  await restartWith(freshKey);
  await endOrder('K-3');

  expect(await isSignedWith(secret, 'K-3')).toBe(true);
});

test('a missing key delays deliveries, is reported, and loses none of them', async () => {
  const key = newKey('old');
  const secret = await makeSecret(await restartWith(key));
  const without = await restartWith(newKey('new'));
  await endOrder('K-4');

  const client = stack.webhookClient('operator', without);
  const delivery = await waitUntil('the delivery is there', async () => {
    const { deliveries } = await client.listDeliveries({ merchantId, orderNumber: 'K-4' });
    return deliveries[0];
  });
  const { explanation } = await client.explainDelivery({ merchantId, deliveryId: delivery.deliveryId });
  expect(explanation?.signingSecretProblem).toBe(SigningSecretProblem.KEY_MISSING);
  expect(await metricOf(without, 'gatehouse_webhook_secrets_with_old_key')).toBe('1');
  expect(receiver.webhooks).toEqual([]);

  await restartWith(key);

  expect(await isSignedWith(secret, 'K-4')).toBe(true);
});

test('without core the process starts, sends ingested events, and continues when core is available', async () => {
  receiver.behave(answer(503));
  await makeSecret(await restart());
  await endOrder('C-1');
  await waitUntil('it has been refused', () => receiver.webhooks.length > 0);
  await stopProcess();
  receiver.behave(answer(200));

  const alone = await restart({ GATEHOUSE_CORE_ADDRESSES: await deadAddress() });
  await waitUntil('it is delivered', () => alone.log.some(({ result }) => result === 'DELIVERED'));
  await endOrder('C-2');
  await restart();

  await waitUntil('both orders have been told of', () =>
    ['C-1', 'C-2'].every((number) => receiver.webhooks.some(({ body }) => body.includes(`"${number}"`))),
  );
});
