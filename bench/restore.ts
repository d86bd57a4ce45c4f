/**
 * Measures how long a gateway takes no payments after it has lost its database, and how much of the time before the loss is lost. It
 * compares Gatehouse's backup with a base backup and archived WAL. The time that prompts may take (GATEHOUSE_RECOVERY_SETTLE_SECONDS) is
 * not waited for.
 *
 *     npm run bench:restore -- --orders 10000,200000
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { RecoveryService } from '../src/gen/gatehouse/v1/recovery_service_pb.js';
import { backupTools } from '../src/main/backup-tools.ts';
import { startArchivedPostgres } from '../test/support/archived-postgres.ts';
import type { ArchivedPostgres } from '../test/support/archived-postgres.ts';
import { startProcess } from '../test/support/gatehouse-process.ts';
import { storedId } from '../test/support/ids.ts';
import { loseDatabase } from '../test/support/lose-database.ts';
import { databaseUrl, shareServers, templateDatabase } from '../test/support/servers.ts';
import { startStack } from '../test/support/stack.ts';
import type { Stack } from '../test/support/stack.ts';
import { insist, waitUntil } from '../test/support/wait-until.ts';
import { benchmark, wholeNumber, wholeNumbers } from './command-line.ts';
import { writtenByCore } from './system/fill-database.ts';
import { seedOrders } from './system/seed-orders.ts';
import { withEverythingStopped } from './system/with-everything-stopped.ts';
import type { CleanUps } from './system/clean-ups.ts';

interface Options {
  readonly orders: readonly number[];
  readonly archiveTimeout: number;
  readonly seconds: number;
}

const { orders, archiveTimeout, seconds } = benchmark(
  'bench:restore',
  'Measures the time from the loss of the database to the first payment, and the time that is lost.',
)
  .option('--orders <numbers>', 'the orders in the database', wholeNumbers, [10_000, 200_000])
  .option('--archive-timeout <seconds>', 'how often PostgreSQL archives at least', wholeNumber, 60)
  .option('--seconds <number>', 'time between the backup and the loss', wholeNumber, 75)
  .parse()
  .opts<Options>();

type Way = 'backup' | 'WAL archive';
const restoredPaymentMs = 100;

const inSeconds = (fromMs: number): string => ((performance.now() - fromMs) / 1000).toFixed(1);

for (const count of orders) for (const way of ['backup', 'WAL archive'] as const) await measure(count, way);

function measure(count: number, way: Way): Promise<void> {
  return withEverythingStopped(async (cleanUps) => {
    const postgres = await startArchivedPostgres({ archiveTimeoutSeconds: archiveTimeout });
    cleanUps.add(postgres.stop);
    const { stack, startCore, pay } = await open(postgres, cleanUps);
    const merchant = await stack.createMerchant();
    await insist('a first payment', () => pay(merchant.testKey, writtenByCore.ended));
    await published(stack.databaseUrl);
    const stored = { id: merchant.id, storedId: storedId('mer', merchant.id), testKey: merchant.testKey };
    await stack.cores[0]?.stop();
    await seedOrders(stack.databaseUrl, stored, 1, count);
    const core = await startCore();
    await published(stack.databaseUrl);

    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-backup-'));
    cleanUps.add(() => rm(folder, { recursive: true }));
    const urls = { core: stack.databaseUrl, webhooks: stack.databaseUrl };
    const backupFromMs = performance.now();
    if (way === 'backup') await backupTools.write(urls, folder, () => undefined);
    else await postgres.takeBaseBackup();
    const backupSeconds = inSeconds(backupFromMs);
    await delay(seconds * 1000);
    await pay(merchant.testKey, 'BEFORE-LOSS');

    const lostAt = Date.now();
    const load = loadavg()[0]?.toFixed(1);
    const lossMs = performance.now();
    await stack.webhooks[0]?.stop();
    if (way === 'backup') {
      await core.stop();
      await loseDatabase(stack.databaseUrl);
      await backupTools.restore(urls, folder, () => undefined);
    } else {
      await postgres.lose('crash');
      await core.stop();
      await postgres.restore();
    }
    const restoreSeconds = inSeconds(lossMs);
    await startCore();
    await waitUntil('a payment is taken again', () =>
      pay(merchant.testKey, 'AFTER-LOSS').then(Boolean, () => undefined),
    );
    const untilPayment = inSeconds(lossMs);
    const { recovery } = await stack.client(RecoveryService, 'operator').getRecovery({});
    const lostFromMs = Number(recovery?.lostFromTime?.seconds ?? 0n) * 1000;
    console.log(
      `${count} orders, ${way}: copied in ${backupSeconds} s, restored ${restoreSeconds} s after the loss, first payment after ${untilPayment} s; ` +
        `lost time ${((lostAt - lostFromMs) / 1000).toFixed(0)} s, of which the broker returned ${recovery?.rebuiltOrderCount} orders; load ${load}`,
    );
  });
}

async function open(postgres: ArchivedPostgres, cleanUps: CleanUps) {
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query(`create database ${templateDatabase}`);
  await admin.end();
  shareServers({ postgresUrl: databaseUrl(postgres.url, 'postgres'), natsUrl: '' });
  const stack: Stack = await startStack({
    ownProcesses: true,
    wallets: 1,
    // The stack starts a broker of its own for it.
    webhooks: 1,
    settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0', GATEHOUSE_RECOVERY_SETTLE_SECONDS: '0' },
  });
  cleanUps.add(stack.stop);
  const port = stack.addresses[0]?.split(':').at(-1) ?? '';
  const startCore = async () => {
    const core = await startProcess('core', { ...stack.coreSettings, GATEHOUSE_CORE_GRPC_PORT: port });
    cleanUps.add(() => core.stop().then(() => undefined));
    return core;
  };
  /** @throws until the gateway takes payments */
  const pay = async (apiKey: string, orderNumber: string): Promise<true> => {
    await delay(restoredPaymentMs);
    const response = await fetch(
      `${stack.facades[0]?.sandbox ?? ''}/api/v1/direct?payment_option=walleta_ussd`,
      {
        method: 'POST',
        headers: { apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({
          order_number: orderNumber,
          amount: '100.50',
          currency: 'ETB',
          phone: '251901110001',
        }),
      },
    );
    if (response.status !== 201) throw new Error(`${orderNumber} was answered ${response.status}`);
    return true;
  };
  return { stack, startCore, pay };
}

/** Waits until the broker has every event, so that a running relay does not use the machine during the measurement. */
async function published(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await waitUntil('every event is published', async () => {
      const { rows } = await client.query<{ done: boolean }>(
        'select (select min(position) from core.event_relay) >= (select max(position) from core.order_events) as done',
      );
      return rows[0]?.done === true;
    });
  } finally {
    await client.end();
  }
}
