import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { openDatabase } from '../../src/core/database/database.ts';
import { AuditService } from '../../src/gen/gatehouse/v1/audit_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { migrateWhenReachable } from '../../src/main/migrate-when-reachable.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { openDatabase as openWebhooksDatabase } from '../../src/webhooks/database/database.ts';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import { checkOutPreviousRelease, whyNoPreviousRelease } from '../support/previous-release.ts';
import type { CheckedOut } from '../support/previous-release.ts';
import { lostRows, readRows } from '../support/database-rows.ts';
import { openStackGround } from '../support/stack-ground.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCommandLine } from './cli-harness.ts';
import { registration, startMerchantApi } from './merchant-api-harness.ts';
import type { MerchantApi } from './merchant-api-harness.ts';
import {
  finishOpenRecords,
  hasArrived,
  writeEndedRecords,
  writeNewRecords,
  writeOpenRecords,
} from './old-records.ts';
import type { EndedRecords } from './old-records.ts';
import { dataOf, ended, eventOf, pay, refund, refunded } from './trading-shop.ts';

/*
 * During an upgrade, processes of the previous release work beside those of this one. The database has the schema of this one,
 * because the first new core migrates it.
 */

const obstacle = whyNoPreviousRelease();
const skewed = obstacle === undefined ? test : test.skip;
const because = obstacle === undefined ? '' : ` (not tested: ${obstacle})`;

let previous: CheckedOut | undefined;
afterAll(() => previous?.remove());

/** A merchant's calls from the registration to the refund, which involve each kind of process. */
async function tradeAt(api: MerchantApi): Promise<void> {
  const { stack } = api;
  const shop = await api.newShop({ mayRefund: true });
  const { merchantId } = shop;
  const { secret } = await stack
    .webhookClient('operator')
    .rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
  const receiver = await startReceiver();
  try {
    const order = registration({ webhook_url: `${receiver.origin}/hook` });
    const { order_number } = order;
    const key = { headers: { 'idempotency-key': randomUUID() } };
    const registered = await api.post(shop, '/api/v1/register', order, key);
    expect(registered.status).toBe(201);
    expect((await api.post(shop, '/api/v1/register', order, key)).text).toBe(registered.text);
    const asked = await api.post(shop, '/api/v1/verify', { order_number });
    expect(dataOf(asked)['status']).toBe('PENDING');
    const checkout = new URL(dataOf(registered)['checkout_url'] ?? '');
    for (const { origin } of stack.checkouts) {
      const page = await fetch(origin + checkout.pathname);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('100.50')]);
    }
    for (const { origin } of stack.dashboards) expect((await fetch(`${origin}/sign-in`)).status).toBe(200);

    await pay(api, shop, { order_number });
    await ended(api, shop, order_number, 'COMPLETED');
    await refunded(api, shop, await refund(api, shop, order_number, '40'));
    await waitUntil('both webhooks have arrived', () => receiver.webhooks.length >= 2);
    expect(receiver.webhooks.map((webhook) => eventOf(webhook, secret).type)).toEqual([
      'order.completed',
      'refund.completed',
    ]);
  } finally {
    await receiver.close();
  }
}

/** The report of this version's command line about the decisions of that core. */
async function rehearse({ stack }: MerchantApi): Promise<unknown> {
  const cli = await openCommandLine({
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.reader,
  });
  try {
    // Another test's transaction may hold back the latest of five events.
    return await waitUntil('all events are listed', async () => {
      const { summary } = (await cli.json('rehearse')) as { summary: { event_count: number } };
      return summary.event_count === 5 && summary;
    });
  } finally {
    await cli.stop();
  }
}

skewed.each([
  ['core', ['core']],
  ['every process but core', ['rest-facade', 'checkout', 'dashboard', 'wallets', 'webhooks']],
])(`%s of the previous release trades beside the rest of this one${because}`, async (_, processes) => {
  previous ??= checkOutPreviousRelease();
  const { folder } = previous;
  const api = await startMerchantApi({
    wallets: 1,
    checkouts: 1,
    dashboards: 1,
    webhooks: 1,
    previous: { folder, processes },
  });
  try {
    await tradeAt(api);
    // The events of a release that records no decisions tell their commands here.
    const recordsDecisions = !processes.includes('core') || existsSync(join(folder, 'src/core/rehearsal'));
    const derived = recordsDecisions ? 0 : 2;
    expect(await rehearse(api)).toMatchObject({
      ...{ order_count: 1, difference_count: 0, derived_count: derived, unknown_command_count: 0 },
    });
  } finally {
    await api.stop();
  }
});

/** Tables and columns that store the progress of some work. They change even when no order changes. */
const progress = [
  'core.event_relay',
  'core.migrations',
  'core.order_counts',
  'core.order_counts_cursor',
  ...['due_at', 'lease_id', 'leased_until', 'leases', 'updated_at'].map(
    (column) => `core.payment_attempts.${column}`,
  ),
  'core.wallet_statuses',
  'webhooks.event_readers',
  'webhooks.migrations',
];

const parts = { wallets: 1, webhooks: 1 };

/** The merchant's view of the orders and the refund that have ended. */
async function readBack(api: MerchantApi, { shop, orders, refundNumber }: EndedRecords): Promise<string[]> {
  const answers = [await api.post(shop, '/api/v1/refund/verify', { refund_number: refundNumber })];
  for (const order_number of Object.values(orders))
    answers.push(await api.post(shop, '/api/v1/verify', { order_number }));
  return answers.map(({ text }) => text);
}

/**
 * Migrates both schemas while orders are registered and read. At first a transaction holds a lock, so that a migration of a busy table
 * gives up.
 */
async function migrateUnderTraffic(api: MerchantApi, shop: EndedRecords['shop'], holder: pg.Client) {
  const logger = createLogger({ process: 'migrate', instance: 'test', level: 'silent' });
  const options = { url: api.stack.databaseUrl, poolSize: 2, applicationName: 'migrate', logger };
  const core = await openDatabase(options);
  const webhooks = await openWebhooksDatabase(options);
  let isOver = false;
  const trade = async (): Promise<void> => {
    while (!isOver) {
      const order = registration();
      const { order_number } = order;
      expect((await api.post(shop, '/api/v1/register', order)).status).toBe(201);
      expect((await api.post(shop, '/api/v1/verify', { order_number })).status).toBe(200);
    }
  };
  try {
    await holder.query('begin');
    await holder.query('lock table core.orders, core.order_events in row exclusive mode');
    const trading = trade();
    const pending = await core.pendingMigrations();
    const gaveUp = await migrateWhenReachable(core, logger, 1).then(
      () => false,
      () => true,
    );
    // Those before it need no lock that the transaction holds, and remain.
    expect(await core.pendingMigrations()).toEqual(
      gaveUp ? pending.slice(pending.indexOf('037-erasure')) : [],
    );
    await holder.query('commit');
    await migrateWhenReachable(core, logger);
    await migrateWhenReachable(webhooks, logger);
    isOver = true;
    await trading;
    expect(await core.pendingMigrations()).toEqual([]);
  } finally {
    isOver = true;
    await core.close();
    await webhooks.close();
  }
}

async function verifiedHistory({ stack }: MerchantApi) {
  const audit = stack.client(AuditService, 'reader');
  return waitUntil('all events are sealed', async () => {
    const findings: string[] = [];
    for await (const { message } of audit.verifyEvents({})) {
      if (message.case === 'finding') findings.push(JSON.stringify(message.value));
      else if (message.case === 'summary' && message.value.waitingEventCount === 0n) return findings;
    }
    return undefined;
  });
}

skewed(
  `an upgrade keeps and finishes what the previous release began, and a rollback what this one wrote${because}`,
  async () => {
    previous ??= checkOutPreviousRelease();
    const release = { folder: previous.folder, processes: ['core', 'rest-facade', 'wallets', 'webhooks'] };
    const ground = await openStackGround({
      ...parts,
      walletTimeScale: 0.02,
      settings: {},
      ownProcesses: false,
      migrated: false,
    });
    const database = new pg.Client({ connectionString: ground.databaseUrl });
    const receiver = await startReceiver();
    let api: MerchantApi | undefined;
    try {
      await database.connect();
      api = await startMerchantApi({ ...parts, ground, previous: release });
      const old = await writeEndedRecords(api, receiver, database);
      const open = await writeOpenRecords(api, receiver, old);
      const told = await readBack(api, old);
      const again = await api.post(old.shop, '/api/v1/register', old.registered);
      const rows = await readRows(database, progress);

      await migrateUnderTraffic(api, old.shop, database);
      expect(await lostRows(database, rows)).toEqual([]);

      // The upgrade.
      await api.stop();
      api = await startMerchantApi({ ...parts, ground });
      expect(await readBack(api, old)).toEqual(told);
      expect((await api.post(old.shop, '/api/v1/register', old.registered)).text).toBe(again.text);
      const { unsignedSecret } = await finishOpenRecords(api, old, open);
      await waitUntil('all webhooks have arrived', () => receiver.webhooks.length === 16);
      const secretOf = { '/orders': old.secrets.orders, '/endpoint': old.secrets.endpoint };
      const events = receiver.webhooks.map((webhook) => {
        const secret = Object.hasOwn(secretOf, webhook.target)
          ? secretOf[webhook.target as keyof typeof secretOf]
          : unsignedSecret;
        return `${webhook.target} ${eventOf(webhook, secret).type}`;
      });
      expect(events.slice(9).toSorted()).toEqual([
        '/endpoint order.completed',
        '/endpoint order.completed',
        '/endpoint refund.completed',
        '/endpoint refund.completed',
        '/orders order.completed',
        '/orders refund.completed',
        '/unsigned order.completed',
      ]);
      expect(await verifiedHistory(api)).toEqual([]);
      const toldAfter = await readBack(api, old);
      const paidHere = await pay(api, old.shop);
      const paid = await ended(api, old.shop, paidHere, 'COMPLETED');
      const link = await writeNewRecords(api, receiver, old);

      // The rollback.
      await api.stop();
      api = await startMerchantApi({ ...parts, ground, previous: release });
      expect(await readBack(api, old)).toEqual(toldAfter);
      expect((await ended(api, old.shop, paidHere, 'COMPLETED')).text).toBe(paid.text);
      await refunded(api, old.shop, await refund(api, old.shop, paidHere, '10'));
      await hasArrived(receiver, old, { type: 'refund.completed', orderNumber: paidHere });
      await pay(api, old.shop, { order_number: link });
      await ended(api, old.shop, link, 'COMPLETED');
      await hasArrived(receiver, old, { type: 'order.completed', orderNumber: link });
      const { merchantId } = old.shop;
      const { deliveries } = await api.stack.webhookClient('operator').listDeliveries({ merchantId });
      expect(deliveries.map(({ eventType }) => eventType)).toContain('payment_link.created');
      await tradeAt(api);
    } finally {
      await api?.stop();
      await database.end();
      await receiver.close();
      await ground.close();
    }
  },
);
