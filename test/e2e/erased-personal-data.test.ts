import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import pino from 'pino';
import { openEventBus } from '../../src/contract/event-bus.ts';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCommandLine, operatorSettings } from './cli-harness.ts';
import { directPath, newOrderNumber, sharedMerchantApi, sharedShop } from './merchant-api-harness.ts';
import type { Answer } from './merchant-api-harness.ts';
import { shared, sharedConnection } from '../support/shared-stack.ts';

// The stored data of a customer in every table and in the broker, before and after its erasure.

const digits = String(randomInt(10_000_000, 100_000_000));
/** In the forms of a merchant and of a wallet, both with the same last digits. */
const phone = `09${digits}`;
/** Without digits, which the request log would mask. */
const words = `canary ${Array.from({ length: 12 }, () => 'abcdefgh'[randomInt(8)]).join('')}`;

const api = sharedMerchantApi({ wallets: 1, webhooks: 1 });
const shop = sharedShop(api, () => api.newShop({ mayRefund: true, signsWebhooks: true }));
const cli = shared(() => openCommandLine(operatorSettings(api.stack)));
const database = sharedConnection(() => api.stack.databaseUrl);
const bus = shared(() => {
  const url = api.stack.coreSettings['GATEHOUSE_NATS_URL'] ?? '';
  return Promise.resolve(openEventBus({ url, name: 'traces', logger: pino({ level: 'silent' }) }));
});
const receiver = shared(() =>
  startReceiver(({ webhook, response }) => response.end(`got ${webhook.body.toString()}`)),
);

/** The tables of both schemas with a row that contains the customer's number or words, as text or within bytes. */
async function tablesWithTraces(): Promise<string[]> {
  const { rows: tables } = await database.query<{ name: string }>(`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('core', 'webhooks')
    and tablename not like 'api\\_requests\\_2%' order by 1`);
  const needles = [`9${digits}`, words];
  const forms = needles.flatMap((needle) => [needle, Buffer.from(needle).toString('hex')]);
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await database.query(
      `select from ${name} t where exists (select from unnest($1::text[]) form where position(form in t::text) > 0) limit 1`,
      [forms],
    );
    if (rows.length > 0) found.push(name);
  }
  return found;
}

/** How many messages of the broker contain the customer's number or words. */
async function messagesWithTraces(): Promise<number> {
  const stream = await waitUntil('the broker answers', bus.storedStream);
  const messages = await stream.read(stream.range?.first ?? 1, stream.range?.last ?? 0);
  return messages.filter(({ body }) => {
    const text = Buffer.from(body).toString('latin1');
    return text.includes(`9${digits}`) || text.includes(words);
  }).length;
}

const order = {
  order_number: newOrderNumber(),
  amount: '100.50',
  currency: 'ETB',
  reason: `Shoes for ${words}`,
  customer_phone: phone,
  return_url: 'https://shop.example/thanks',
};
const idempotent = { headers: { 'idempotency-key': 'erased-1' } };
const register = () =>
  api.post(shop, '/api/v1/register', { ...order, webhook_url: `${receiver.origin}/hook` }, idempotent);
const pay = (orderNumber = order.order_number) =>
  api.post(shop, directPath, { order_number: orderNumber, amount: '100.50', currency: 'ETB', phone });
const verify = () => api.post(shop, '/api/v1/verify', { order_number: order.order_number });
const dataOf = ({ json }: Answer) => json['data'] as Readonly<Record<string, string>>;

const shownRequests = async () => (await cli.run('personal-data', 'requests', '--phone', phone)).stdout;
const refund = {
  refund_number: newOrderNumber(),
  order_number: order.order_number,
  amount: '40',
  reason: `Returned by ${words}`,
};

test('an erased phone number is in no table and in no message of the broker, and nothing else changes', async () => {
  expect((await register()).status).toBe(201);
  expect((await pay()).status).toBe(201);
  const paid = await waitUntil('the order is paid', async () => {
    const data = dataOf(await verify());
    return data['status'] === 'COMPLETED' && data;
  });
  expect((await api.post(shop, '/api/v1/refund', refund)).status).toBe(201);
  const { refund_number } = refund;
  expect((await api.post(shop, '/api/v1/refund/verify', { refund_number })).status).toBe(200);
  await waitUntil('both webhooks were answered', async () => {
    const { rows } = await database.query("select from webhooks.deliveries where state = 'DELIVERED'");
    return rows.length >= 2;
  });
  const open = { ...order, order_number: newOrderNumber() };
  expect((await api.post(shop, '/api/v1/register', open)).status).toBe(201);
  // The facade reports its log of requests a little later.
  const before = await waitUntil('the customer is in every table that can have a customer', async () => {
    const tables = await tablesWithTraces();
    return tables.includes('core.api_requests') && tables;
  });
  expect(before).toEqual([
    'core.api_requests',
    'core.audit_entries',
    'core.idempotency_keys',
    'core.order_events',
    'core.orders',
    'core.payment_attempts',
    'core.refunds',
    'core.wallet_exchanges',
    'webhooks.deliveries',
    'webhooks.delivery_attempts',
  ]);
  expect(await messagesWithTraces()).toBeGreaterThan(3);

  const counted = await cli.run('personal-data', 'erase', '--phone', phone, '--dry-run');
  expect(counted.stdout).toBe(
    'Would erase: 2 orders, and 0 payments without an order. Nothing was changed.\n',
  );
  expect(await shownRequests()).toBe('No requests for erasure match.\n');
  expect(await tablesWithTraces()).toEqual(before);

  const asked = await cli.run('personal-data', 'erase', '--phone', phone);
  expect(asked).toMatchObject({ exitCode: 0, stderr: '' });
  expect(asked.stdout).toMatch(/^Request ers_\w{26}: 2 orders, and 0 payments without an order\.$/m);
  await waitUntil('the ended order is erased, and the open one waits', async () => {
    const shown = (await shownRequests()).replace(/\s+/g, ' ');
    return (
      shown.includes('erased; copies that were in transit') && shown.includes('erased when it has ended')
    );
  });
  const verified = await waitUntil('a facade that remembers the answer reads the order again', async () => {
    const data = dataOf(await verify());
    return data['customer_phone'] !== phone && data;
  });
  expect(verified).toEqual({ ...paid, customer_phone: 'erased', reason: 'erased' });

  expect((await pay(open.order_number)).status).toBe(201);
  await waitUntil('nothing of the customer is left', async () => {
    // Both are tried again after some minutes.
    await database.query('update core.erasures_due set due_at = now()');
    return (await tablesWithTraces()).length === 0 && (await shownRequests()).includes('none');
  });
  expect(await messagesWithTraces()).toBe(0);

  const attempts = async () => (await database.query('select from core.payment_attempts')).rows.length;
  const count = await attempts();
  expect((await register()).status).toBe(201);
  expect((await pay()).status).toBe(201);
  expect(dataOf(await api.post(shop, '/api/v1/refund', refund))).toMatchObject({ reason: 'erased' });
  expect(await attempts()).toBe(count);
  const audit = await waitUntil('all events are sealed', async () => {
    const run = await cli.run('audit', 'verify');
    return !run.stdout.includes('wait for a block') && run;
  });
  expect(audit).toMatchObject({ exitCode: 0 });
  expect(audit.stdout).toMatch(/^\d+ erased events match the seals of their erasure\.$/m);
}, 120_000);

test("a merchant's period of erasure is set and shown, and an invalid one is refused with the allowed values", async () => {
  const { merchantId } = await api.newShop();
  const set = await cli.run('merchant', 'update', merchantId, '--personal-data-days', '365');
  const refused = await cli.run('merchant', 'update', merchantId, '--personal-data-days', '29');
  const client = api.stack.client(MerchantService, 'operator');

  expect(set.stdout).toMatch(/^Erasure +personal data after 365 days$/m);
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain('must be 30 to 36500, or 0 for the period of the deployment');
  expect((await client.getMerchant({ merchantId })).merchant?.personalDataDays).toBe(365);
  expect((await cli.run('personal-data', 'erase', '--phone', '12')).stderr).toContain('phone: must be');
  expect((await cli.run('personal-data', 'erase')).stderr).toContain("required option '--phone <number>'");
});
