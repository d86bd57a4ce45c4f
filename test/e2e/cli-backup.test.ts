import { createHash, randomUUID } from 'node:crypto';
import {
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../src/contract/public-id.ts';
import { MerchantWalletService } from '../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { findEndedPeriods } from '../../src/core/erasure/ended-periods.ts';
import { startInline } from '../support/inline-process.ts';
import { loseDatabase } from '../support/lose-database.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { openPool, sharedMerchant, sharedStack } from '../support/shared-stack.ts';
import { walletsOfCore } from '../support/simulated-wallets.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { sharedCommandLine } from './cli-harness.ts';
import { connectToDatabase, queryOnce } from '../support/database-connections.ts';
import { sharedFolder } from '../support/shared-folder.ts';

/** No wallet has a statement, so an operator compares all of them. */
const withoutStatements = walletsOfCore().replaceAll('"reconcile":true', '"reconcile":false');
const stack = sharedStack({ settings: { GATEHOUSE_WALLETS: withoutStatements } });

const merchant = sharedMerchant(stack);
const cli = sharedCommandLine(stack, () => ({ GATEHOUSE_DATABASE_URL: stack.databaseUrl }));
const folder = sharedFolder();
const backup = join(folder, 'backup');
beforeAll(async () => {
  await register('BEFORE-1');
  await cli.json('backup', '--output', backup);
});

async function register(orderNumber: string): Promise<number> {
  const { status } = await callSandbox(stack, merchant, 'register', {
    order_number: orderNumber,
    return_url: 'http://127.0.0.1/back',
    amount: '100.50',
    currency: 'ETB',
    reason: 'Shoes',
    customer_phone: '251901110001',
  });
  return status;
}

const query = async (sql: string) => ({ rows: await queryOnce(stack.databaseUrl, sql) });

const published = async (): Promise<number> => {
  const { rows } = await query(`
    select count(*)::integer as count from core.order_events e, core.event_relay r where (e.xid, e.position) <= (r.xid, r.position)`);
  return (rows[0] as { readonly count: number }).count;
};

/** The orders that are due for erasure when core looks for ended periods in 31 days. */
async function dueInAMonth(): Promise<readonly unknown[]> {
  const pool = openPool({ connectionString: stack.databaseUrl });
  try {
    const now = () => new Date(Date.now() + 31 * 24 * 60 * 60_000);
    const parts = { database: { pool }, defaultDays: 30, newId: newRandomId, now, machineNow: now };
    await findEndedPeriods(parts, ['SANDBOX', 'PRODUCTION'], { aborted: false });
    const { rows } = await pool.query<{ order_number: string }>(`
      select order_number from core.erasures_due due join core.orders o
      on o.merchant_id = due.merchant_id and o.environment = due.environment and o.id = due.order_id order by order_number`);
    return rows.map((row) => row.order_number);
  } finally {
    await pool.end();
  }
}

const orders = 'core.orders.copy.gz';
const manifest = 'manifest.json';

async function changeText(path: string, change: (text: string) => string): Promise<void> {
  const before = await readFile(path, 'utf8');
  const after = change(before);
  expect(after).not.toBe(before);
  await writeFile(path, after);
}

async function flipByte(path: string): Promise<void> {
  const content = await readFile(path);
  const middle = content.length >> 1;
  content[middle] = (content[middle] ?? 0) ^ 1;
  await writeFile(path, content);
}

const inManifest = (from: string | RegExp, to: string) => (of: string) =>
  changeText(join(of, manifest), (text) => {
    const { checksum: _old, ...content } = JSON.parse(text.replace(from, to)) as {
      readonly checksum: string;
    };
    const checksum = createHash('sha256').update(JSON.stringify(content)).digest('hex');
    return JSON.stringify({ ...content, checksum });
  });
const copyAgain = 'Copy the folder again';
const damages: readonly (readonly [string, (folder: string) => Promise<void>, string, string])[] = [
  [
    'a file that was cut off',
    (of) => truncate(join(of, orders), 40),
    `${orders} was cut off or changed: it has 40 of`,
    copyAgain,
  ],
  [
    'a flipped bit',
    (of) => flipByte(join(of, orders)),
    `${orders} was changed or damaged: its checksum differs`,
    copyAgain,
  ],
  ['a missing file', (of) => unlink(join(of, orders)), `${orders} is missing`, copyAgain],
  [
    'an empty file',
    (of) => truncate(join(of, orders)),
    `${orders} was cut off or changed: it has 0 of`,
    copyAgain,
  ],
  [
    'a missing manifest',
    (of) => unlink(join(of, manifest)),
    `has no ${manifest}: the backup did not finish`,
    'use another backup',
  ],
  [
    'the folder that contains the backups',
    async (of) => {
      const names = await readdir(of);
      await mkdir(join(of, 'monday'));
      await Promise.all(names.map((name) => rename(join(of, name), join(of, 'monday', name))));
    },
    'is not a backup',
    'Check the path',
  ],
  [
    'a manifest that was cut off',
    (of) => truncate(join(of, manifest), 300),
    `${manifest} was changed or damaged: it is not JSON`,
    copyAgain,
  ],
  [
    'a manifest without its checksum',
    (of) => changeText(join(of, manifest), (text) => text.replace(/,\s+"checksum": "\w+"/, '')),
    `${manifest} was changed or damaged: its checksum differs`,
    copyAgain,
  ],
  [
    'another time in the manifest',
    (of) => changeText(join(of, manifest), (text) => text.replace(/"taken_at": "20/, '"taken_at": "19')),
    `${manifest} was changed or damaged: its checksum differs`,
    copyAgain,
  ],
  [
    'a form of a later version',
    inManifest('"format": 1', '"format": 2'),
    'the backup has the format 2, and this version reads only format 1',
    'Use the version of Gatehouse that wrote the backup, or a newer one',
  ],
  ['no folder', (of) => rm(of, { recursive: true }), 'there is no folder', 'Check the path'],
];

describe('backup verify and restore refuse', () => {
  test.each(damages)('%s, and say what to do', async (_name, damage, error, advice) => {
    const copy = await mkdtemp(join(folder, 'copy-'));
    await cp(backup, copy, { recursive: true });
    await damage(copy);

    const verified = await cli.run('backup', 'verify', copy);
    const restored = await cli.run('restore', '--from', copy);

    expect(verified).toMatchObject({ exitCode: 4, stdout: '' });
    expect(verified.stderr).toContain(error);
    expect(verified.stderr).toContain(advice);
    expect(restored).toMatchObject({ exitCode: 4, stdout: '', stderr: verified.stderr });
  });

  test.each([
    [
      'of a migration that this version does not know',
      inManifest('"033-recovery"', '"999-later"'),
      'the backup has the migration 999-later of core',
      'Use the version of Gatehouse that wrote the backup',
    ],
    [
      'with fewer rows than its manifest says',
      inManifest(/("name": "orders",[^{}]*"rows": )1/, '$19'),
      `${orders} has 1 rows, and the manifest says 9`,
      'Drop this database, which has no rows',
    ],
  ])('a backup %s', async (_what, damage, error, advice) => {
    const copy = await mkdtemp(join(folder, 'copy-'));
    await cp(backup, copy, { recursive: true });
    await damage(copy);
    const empty = await createTestDatabase({ migrated: false });
    try {
      const restored = await cli.run('restore', '--from', copy, '--database-url', empty.url);
      expect(restored).toMatchObject({ exitCode: 4, stdout: '' });
      expect(restored.stderr).toContain(error);
      expect(restored.stderr).toContain(advice);
    } finally {
      await empty.drop();
    }
  });
});

test('a database without tables of Gatehouse is not backed up', async () => {
  const empty = await createTestDatabase({ migrated: false });
  try {
    const refused = await cli.run('backup', '--output', join(folder, 'none'), '--database-url', empty.url);
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain('the database has no tables of core\nCheck the address');
  } finally {
    await empty.drop();
  }
});

test('an undamaged backup is verified; a used folder, a used database and a wrong address are refused', async () => {
  const verified = await cli.json('backup', 'verify', backup);
  const again = await cli.run('backup', '--output', backup);
  const used = await cli.run('restore', '--from', backup);
  const nowhere = await cli.run(
    ...['restore', '--from', backup, '--database-url', 'postgres://gatehouse@127.0.0.1:1/x'],
  );

  expect(verified).toMatchObject({ folder: backup, orders: 1, schemas: ['core', 'webhooks'] });
  expect(again).toMatchObject({ exitCode: 4, stdout: '' });
  expect(again.stderr).toContain('is not empty\nName a new folder');
  expect(used).toMatchObject({ exitCode: 4, stdout: '' });
  expect(used.stderr).toContain('already has the schema core\nCreate an empty database');
  expect(nowhere).toMatchObject({ exitCode: 5, stdout: '' });
});

test('an operator backs up, restores, compares the wallets and opens the gateway with commands only', async () => {
  await register('AFTER-1');
  await register('TAKEN-1');
  await waitUntil('the broker has the orders', async () => (await published()) === 3);
  expect(await dueInAMonth()).toEqual(['AFTER-1', 'BEFORE-1', 'TAKEN-1']);
  const erase = ['personal-data', 'erase', '--phone', '0901110001'];
  expect((await cli.run(...erase)).stdout).toContain('gatehouse restore status');
  await stack.cores[0]?.stop();
  await loseDatabase(stack.databaseUrl);
  const restored = await cli.run('restore', '--from', backup);
  expect(restored).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('complete and undamaged') });
  expect(restored.stdout).toContain('gatehouse restore status');
  expect((await query('select from core.erasures_due')).rows).toEqual([]);
  expect(await dueInAMonth()).toEqual(['BEFORE-1']);
  // Another order of the shop has the number, as when payments were accepted before anyone noticed the restore.
  await query(`
    insert into core.orders select (jsonb_populate_record(o, '{"id": "${randomUUID()}", "order_number": "TAKEN-1"}')).*
    from core.orders o`);
  const core = await startInline('core', {
    ...stack.coreSettings,
    GATEHOUSE_CORE_GRPC_PORT: stack.addresses[0]?.split(':').at(-1) ?? '',
  });
  try {
    const recovery = async () => {
      const { recovery: found } = await cli.json('restore', 'status');
      return found as { readonly stream: string; readonly closed_environments: readonly string[] };
    };
    // A client that could not connect to the lost core waits before it tries the address again.
    await insist('the restored core answers', recovery);
    await waitUntil('the stream was read', async () => (await recovery()).stream !== 'waiting');
    const closed = await cli.run('restore', 'status');
    expect(closed.stdout).toMatch(/Payments +not taken in SANDBOX, PRODUCTION/);
    expect(closed.stdout).toContain('gatehouse restore accept --wallet walleta --environment sandbox');
    await waitUntil('core refuses new orders', async () => (await register('NEW-1')) === 503);
    const reason = ['--reason', 'compared with the portal'];
    const vague = await cli.run('restore', 'accept', ...reason);
    expect(vague).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--conflicts') });
    expect(closed.stdout).toMatch(/Cannot be rebuilt +1 order;/);
    await cli.json('restore', 'accept', '--conflicts', ...reason);
    const again = await cli.run('restore', 'accept', '--conflicts', ...reason);
    expect(again).toMatchObject({ exitCode: 4 });
    for (const wallet of ['walleta', 'walletb']) {
      const accept = ['restore', 'accept', '--wallet', wallet, '--environment'];
      expect(await cli.run(...accept, 'sandbox', ...reason)).toMatchObject({ exitCode: 0 });
      expect(await cli.run(...accept, 'sandbox', ...reason)).toMatchObject({ exitCode: 4 });
    }
    await waitUntil('the sandbox takes orders', async () => (await register('NEW-1')) === 201);
    const half = await cli.run('restore', 'status');
    expect(half.stdout).toMatch(/Payments +not taken in PRODUCTION/);
    expect(half.stdout).toContain('accepted by');
    for (const wallet of ['walleta', 'walletb'])
      await cli.json('restore', 'accept', '--wallet', wallet, '--environment', 'production', ...reason);
    const open = await cli.run('restore', 'status');
    expect(open.stdout).toMatch(/Payments +taken/);

    expect(await cli.json('personal-data', 'requests')).toMatchObject({ erasure_requests: [] });
    expect(open.stdout).toMatch(/Erasures +requests since .+ are lost/);
    expect((await cli.run('doctor')).stdout).toMatch(/warn +recovery/);
    // A reading may be two seconds old.
    const lostErasures = async () => {
      const page = await fetch(`http://${String(core.ready['connect'])}/metrics`);
      return /^gatehouse_recovery_erasures_lost (\d)$/m.exec(await page.text())?.[1];
    };
    await waitUntil('the metric shows lost requests', async () => (await lostErasures()) === '1');
    const acceptErasures = ['restore', 'accept', '--erasures', '--reason', 'repeated one request'];
    expect(await cli.run(...acceptErasures, '--conflicts')).toMatchObject({ exitCode: 2 });
    await cli.json(...erase);
    expect((await cli.run(...acceptErasures)).stdout).not.toContain('are lost');
    expect(await cli.run(...acceptErasures)).toMatchObject({ exitCode: 4 });
    expect((await cli.run('doctor')).stdout).toMatch(/ok +recovery/);
    await waitUntil('the metric shows none', async () => (await lostErasures()) === '0');

    const report = ['restore', 'report', '--merchant', merchant.id];
    const all = await cli.json(...report);
    expect(all).toMatchObject({
      orders: [
        { order_number: 'AFTER-1', state: 'rebuilt', environment: 'sandbox' },
        { order_number: 'TAKEN-1', state: 'number_taken', environment: 'sandbox' },
      ],
    });
    const conflicts = await cli.run(...report, '--conflicts');
    expect(conflicts.stdout).toContain('TAKEN-1');
    expect(conflicts.stdout).not.toContain('AFTER-1');
    const first = await cli.json(...report, '--limit', '1');
    expect(first).toMatchObject({ orders: [{ order_number: 'AFTER-1' }] });
    const next = await cli.json(...report, '--page-token', String(first['next_page_token']));
    expect(next).toMatchObject({ orders: [{ order_number: 'TAKEN-1' }], next_page_token: '' });
    const { id: otherMerchant } = await stack.createMerchant();
    await query(`
      insert into core.recovered_orders
      select id, gen_random_uuid(), 'PRODUCTION', 'OTHER-1', 'UNREADABLE', now() from core.merchants order by id desc limit 1`);
    const ofAll = await cli.json('restore', 'report', '--conflicts');
    expect(ofAll['orders']).toHaveLength(2);
    expect(ofAll['orders']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ merchant_id: merchant.id, order_number: 'TAKEN-1' }),
        expect.objectContaining({ merchant_id: otherMerchant, order_number: 'OTHER-1' }),
      ]),
    );
    expect((await cli.run('restore', 'report')).stdout).toContain(otherMerchant);
    const { id: thirdMerchant } = await stack.createMerchant();
    const none = await cli.run('restore', 'report', '--merchant', thirdMerchant);
    expect(none).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('No recovery has found') });
    expect(await cli.run('restore', 'report', '--merchant', 'shop')).toMatchObject({ exitCode: 2 });

    // As without the broker: nothing names the accounts of the lost time. One was added again, and nobody has checked it.
    await query("update core.recoveries set stream = 'LOST'");
    await stack.client(MerchantWalletService, 'dashboard').addWalletAccount({
      ...{ merchantId: merchant.id, environment: Environment.SANDBOX, wallet: 'walleta' },
      values: { client_id: 'a', client_secret: 'b', 'payee.type': 'msisdn', 'payee.id': '251900000001' },
    });
    const accounts = ['restore', 'accept', '--accounts', '--reason', 'asked all merchants'];
    const refused = await cli.run(...accounts);
    expect(refused).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('--despite-unaccepted') });
    expect(await cli.run(...accounts, '--despite-unaccepted')).toMatchObject({ exitCode: 0 });

    const early = await cli.run('restore', 'begin', '--backup-time', '2999-01-01T00:00:00Z');
    expect(early).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('must not be in the future'),
    });
    // It locks tables. A busy machine may need longer for that than other commands wait.
    const payment = await connectToDatabase(stack.databaseUrl);
    await payment.query('begin');
    await payment.query('lock table core.orders in row exclusive mode');
    const beginning = cli.run('restore', 'begin', '--backup-time', '2026-01-01T00:00:00Z');
    await waitUntil('it has waited for longer than other commands', async () => {
      const { rows } = await query(`
        select from pg_stat_activity where datname = current_database() and query like 'lock table core.orders, %'
        and wait_event_type = 'Lock' and query_start < clock_timestamp() - interval '5500 ms'`);
      return rows.length > 0;
    });
    await payment.end();
    const begun = await beginning;
    expect(begun).toMatchObject({ exitCode: 0 });
    expect(begun.stdout).toMatch(/Cause +an operator began it/);
    await waitUntil('core refuses new orders', async () => (await register('NEW-2')) === 503);
    const audit = await query("select action from core.audit_entries where action like 'recovery.%'");
    expect(audit.rows).toHaveLength(8);
  } finally {
    await core.stop();
  }
});
