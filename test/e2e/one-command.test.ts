import { beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '../../src/contract/grpc-transport.ts';
import { RecoveryService } from '../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { choosePorts } from '../../src/main/local/free-port.ts';
import { readOrMakeSecrets } from '../../src/main/local/secrets.ts';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import { killIfRunning } from '../support/kill-if-running.ts';
import { compileCache } from '../support/servers.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { waitUntil } from '../support/wait-until.ts';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';
import { execute as executeApart } from './cli-harness.ts';
import type { Outcome } from './cli-harness.ts';
import {
  anOrder,
  command,
  expectRefusal,
  expectRefusalWithin,
  oneCommand,
  post,
  projectRoot,
  untilGone,
} from './one-command.ts';
import type { DemoFile, Run } from './one-command.ts';
import { sharedFolder } from '../support/shared-folder.ts';

const execute = promisify(execFile);

const playDemo = (dataFolder: string, ...args: readonly string[]): Promise<Outcome> =>
  executeApart(process.execPath, ['src/main/demo.ts', ...args], {
    PATH: process.env['PATH'],
    ...compileCache(),
    GATEHOUSE_DATA_DIR: dataFolder,
  });

async function beginRecovery({ grpc, tokens }: DemoFile): Promise<void> {
  const transport = createGrpcTransport({ addresses: [grpc], token: tokens.operator });
  const backupTime = timestampFromMs(Date.now() - 3_600_000);
  await createClient(RecoveryService, transport).beginRecovery({ backupTime });
  transport.close();
}

/** Interrupts a start while one of its processes is starting. */
async function expectInterruption(run: Run, name: string): Promise<void> {
  const processes = await waitUntil(`${name} is there`, async () => {
    const found = await run.processes();
    return [...found.values()].includes(name) ? found : undefined;
  });
  run.process.kill('SIGINT');
  expect(await run.ended).toBe(130);
  await untilGone(processes.keys());
  expect(run.output()).toContain('Interrupted during the start');
}

describe('the one command', () => {
  const start = oneCommand();
  const newFolder = temporaryFolders();

  test('npm run demo says what to do when nothing runs', async () => {
    const { exitCode, stdout, stderr } = await playDemo(await newFolder());

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('Gatehouse is not running here');
    expect(stderr).toContain('Start it in another terminal with: npm start');
  });

  test('starts no database and no broker when settings say where they are, stops on Ctrl-C, and does not return to its own', async () => {
    const dataFolder = await newFolder();
    const [database, nats] = await Promise.all([createTestDatabase(), startTemporaryNats()]);
    try {
      const env = { GATEHOUSE_DATABASE_URL: database.url, GATEHOUSE_NATS_URL: nats.url };
      const run = start({ dataFolder, env });
      await run.ready();
      const processes = await run.processes();
      const names = [...processes.values()];
      expect(names).toContain('core');
      expect(names.filter((name) => name === 'postgres' || name === 'nats-server')).toEqual([]);
      expect(existsSync(join(dataFolder, 'postgres'))).toBe(false);
      expect((await post(await run.demo(), '/api/v1/register', anOrder('elsewhere-1'))).status).toBe(201);
      run.process.kill('SIGINT');
      expect(await run.ended).toBe(0);
      await untilGone(processes.keys());
      await expectRefusalWithin(
        { dataFolder, env: { GATEHOUSE_NATS_URL: nats.url } },
        `Gatehouse has run with the database ${new URL(database.url).host}/`,
      );
    } finally {
      await Promise.all([database.drop(), nats.stop()]);
    }
  });

  test('refuses the URL of its own database, which a backup needs', async () => {
    const dataFolder = await newFolder();
    await mkdir(join(dataFolder, 'postgres'));
    const { database_password: password } = await readOrMakeSecrets(dataFolder, false, randomBytes);
    const env = {
      GATEHOUSE_POSTGRES_PORT: '5433',
      GATEHOUSE_DATABASE_URL: `postgres://gatehouse:${password}@localhost:5433/gatehouse`,
    };
    await expectRefusalWithin(
      { dataFolder, env },
      `GATEHOUSE_DATABASE_URL names the database in ${dataFolder}`,
    );
  });

  test('stops what it has started when it is interrupted while its new database is starting', async () => {
    await expectInterruption(start({ dataFolder: await newFolder() }), 'postgres');
  });
});

async function expectOrder(run: Run, orderNumber: string): Promise<void> {
  await run.ready();
  const { status } = await post(await run.demo(), '/api/v1/verify', { order_number: orderNumber });
  expect(status).toBe(200);
}

/** One start after the other, each with the data of the previous one. */
describe('the one command, used, killed and started again', () => {
  const start = oneCommand({ lasts: 'for all tests' });
  const dataFolder = sharedFolder();
  let run: Run;
  let before: DemoFile;

  beforeAll(async () => {
    const forOtherDatabases = { PGSSLMODE: 'require', PGCLIENTENCODING: 'LATIN1' };
    const env = {
      ...forOtherDatabases,
      GATEHOUSE_METRICS_PORT: '0',
      GATEHOUSE_DASHBOARD_BASE_URL: 'https://dashboard.example',
    };
    const withoutMask = ['sh', '-c', 'umask 000; exec "$0" "$@"', process.execPath, ...command] as const;
    run = start({ dataFolder, env, bundles: 'its own', command: withoutMask });
    await run.ready();
    before = await run.demo();
    expect(before.merchant.test_webhook_secret).toMatch(/^whsec_.{44}$/);
    expect((await post(before, '/api/v1/register', anOrder('order-1'))).status).toBe(201);
  });

  test('ends its start with lines that register an order and read it back when they are pasted', async () => {
    const lines = run.output().match(/^ {2}curl [^]*?(?=\n\n)/gm) ?? [];
    const answers: unknown[] = [];
    for (const line of lines) answers.push(JSON.parse((await execute('bash', ['-c', line])).stdout));
    expect(answers).toEqual([
      expect.objectContaining({ code: 1, data: { checkout_url: expect.stringContaining('/c/') } }),
      expect.objectContaining({
        code: 200,
        data: expect.objectContaining({ status: 'PENDING', amount: '150.00' }),
      }),
    ]);
  });

  test('writes what the command line needs to find every process', async () => {
    const env = { PATH: process.env['PATH'], ...compileCache(), GATEHOUSE_DATA_DIR: dataFolder };
    const { stdout } = await execute('scripts/gatehouse', ['doctor', '--json'], { cwd: projectRoot, env });
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly Record<string, unknown>[] };
    expect(checks.filter(({ result }) => result !== 'ok')).toEqual([]);
    const { checkout, dashboard, wallet_callbacks: wallets } = before;
    const subjects = [`checkout ${checkout}`, `dashboard ${dashboard}`, `wallets ${wallets}`];
    expect(checks.map(({ subject }) => subject)).toEqual(expect.arrayContaining(subjects));
  });

  test('shows the dashboard under its URL for users, and so do links', async () => {
    const env = { PATH: process.env['PATH'], ...compileCache(), GATEHOUSE_DATA_DIR: dataFolder };
    const args = ['user', 'invite', 'invited@shop.example', '--operator'];
    const { stdout } = await execute('scripts/gatehouse', args, { cwd: projectRoot, env });
    expect(stdout).toContain('https://dashboard.example/invitation/');
    expect(run.output()).toMatch(/^ {2}Dashboard +https:\/\/dashboard\.example {3}owner@/m);
  });

  test('opens the metrics of every process when their port is set', async () => {
    const { metrics } = before;
    expect(Object.keys(metrics).sort()).toEqual([
      ...['checkout', 'core', 'dashboard', 'rest-facade', 'wallets', 'webhooks'],
    ]);
    for (const [name, url] of Object.entries(metrics)) {
      const body = await (await fetch(url)).text();
      expect({ name, hasMetrics: body.includes('process_cpu_seconds_total') }).toEqual({
        name,
        hasMetrics: true,
      });
    }
  });

  test('logs no warnings', async () => {
    const warnings: string[] = [];
    for (const name of await readdir(join(dataFolder, 'logs'))) {
      const log = await readFile(join(dataFolder, 'logs', name), 'utf8');
      warnings.push(...log.split('\n').filter((line) => /"level":"(?:warn|error|fatal)"/.test(line)));
    }
    expect(warnings).toEqual([]);
  });

  test('keeps secrets, keys, logs and changes of programs to their owner', async () => {
    const modeOf = async (name: string) => (await stat(join(dataFolder, name))).mode & 0o777;
    for (const name of ['secrets.json', 'demo.json', 'nats/nats-server.conf'])
      expect(await modeOf(name)).toBe(0o600);
    for (const name of ['postgres', 'nats', 'logs']) expect(await modeOf(name)).toBe(0o700);
    for (const name of await readdir(join(dataFolder, 'logs')))
      expect(await modeOf(join('logs', name))).toBe(0o600);
    for (const name of await readdir(join(dataFolder, 'programs')))
      expect((await modeOf(join('programs', name))) & 0o022).toBe(0);
  });

  test('satisfies the health check of the container image', async () => {
    const { connect, webhooks, rest, checkout, dashboard, simulator } = await run.demo();
    const [unused = 0] = await choosePorts([{ setting: 'any', host: '127.0.0.1', port: 0 }]);
    const listeners = [
      ...['CORE_CONNECT', 'WEBHOOKS_CONNECT', 'REST_PRODUCTION', 'CHECKOUT'],
      ...['DASHBOARD', 'WALLET_CALLBACK', 'SIMULATOR'],
    ].map((name) => `GATEHOUSE_${name}_PORT`);
    /** As in a container that has these listeners and no others. */
    const check = (urls: Readonly<Record<string, string>>) =>
      execute(process.execPath, ['scripts/healthcheck.mjs'], {
        cwd: projectRoot,
        env: Object.fromEntries(
          listeners.map((name) => [name, urls[name] === undefined ? `${unused}` : new URL(urls[name]).port]),
        ),
      });
    const core = { GATEHOUSE_CORE_CONNECT_PORT: connect };
    const facade = { GATEHOUSE_REST_PRODUCTION_PORT: rest.production };
    const pages = { GATEHOUSE_CHECKOUT_PORT: checkout };
    const work = { GATEHOUSE_DASHBOARD_PORT: dashboard };
    const sender = { GATEHOUSE_WEBHOOKS_CONNECT_PORT: webhooks.connect };
    const simulated = { GATEHOUSE_SIMULATOR_PORT: simulator };
    for (const urls of [core, facade, pages, work, sender, simulated, { ...core, ...facade }])
      await expect(check(urls)).resolves.toBeDefined();
    await expect(check({})).rejects.toThrow('nothing listens');
  });

  test('npm run demo plays payments at two wallets and refunds, and prints each hop', async () => {
    const [first, telebirr, refunds] = await Promise.all([
      playDemo(dataFolder),
      playDemo(dataFolder, '--wallet', 'telebirr'),
      playDemo(dataFolder, '--refund'),
    ]);

    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    const [, paid = '', poor = '', stray = ''] = first.stdout.split(/\n\n\d\. /);
    const hops = ['shop → facade', 'core ', 'facade → shop', 'wallets → wallet', 'wallet → payer'];
    for (const hop of [...hops, 'wallet → wallets', 'webhooks → shop']) expect(paid).toContain(hop);
    expect(paid).toMatch(/event 3 COMPLETED: order COMPLETED, payment attempt SUCCEEDED$/m);
    expect(paid).toMatch(/order\.completed, signed with the shop's secret$/m);
    expect(paid).toMatch(/POST \/api\/v1\/verify: 200 COMPLETED$/m);
    expect(paid).toMatch(/wallet's ledger +150 ETB debited$/m);
    expect(poor).toMatch(/event 3 FAILED: .*insufficient_funds$/m);
    expect(poor).toMatch(/wallet's ledger +nothing debited$/m);
    expect(stray).toMatch(/stray payment REVERSED: the wallet confirms the reversal of 100\.5 ETB$/m);
    expect(stray).toMatch(/wallet's ledger +100\.5 ETB debited, 100\.5 ETB reversed$/m);
    const seconds = [...paid.matchAll(/^ +(\d+\.\d{3}) s /gm)].map(([, text]) => Number(text));
    expect(seconds.length).toBeGreaterThan(9);
    expect(seconds).toEqual([...seconds].sort((a, b) => a - b));

    // The last commands run as they are printed.
    const [, more = ''] = first.stdout.split('See more\n');
    const env = { PATH: process.env['PATH'], ...compileCache() };
    expect(await executeApart('bash', ['-ec', more], env)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/walleta_ussd[^]*order\.completed[^]*wrong_amount[^]*walleta in SANDBOX/),
    });

    expect(telebirr.stdout).not.toContain('gatehouse reconcile');
    expect(telebirr.stderr).toBe('');
    const [, done = '', refused = '', lost = ''] = telebirr.stdout.split(/\n\n\d\. /);
    expect(done).toMatch(/event 3 COMPLETED: .*\n[^]*wallet's ledger +150 ETB debited$/m);
    expect(refused).toMatch(/event 3 PAYMENT_DECLINED: .*\n[^]*wallet's ledger +nothing debited$/m);
    expect(lost).not.toContain('wallet → wallets');
    expect(lost).toMatch(/event 3 COMPLETED: [^]*wallet's ledger +99 ETB debited$/m);
    expect(refunds).toMatchObject({ exitCode: 0, stderr: '' });
    const [, part = '', denied = '', silent = ''] = refunds.stdout.split(/\n\n\d\. /);
    expect(part).toMatch(/refund\.completed, signed with the shop's secret$/m);
    expect(part).toMatch(/POST \/api\/v1\/refund\/verify: 200 COMPLETED$/m);
    expect(part).toMatch(/wallet's ledger +150 ETB debited, 40 ETB reversed$/m);
    expect(denied).toMatch(/REFUND_FAILED: order COMPLETED, refund of 80\.00 ETB FAILED: \w+$/m);
    expect(denied).toMatch(/wallet's ledger +80 ETB debited$/m);
    expect(silent).toMatch(/POST \/api\/v1\/refund\/verify: 200 COMPLETED$/m);
    expect(silent).toMatch(/wallet's ledger +60 ETB debited, 60 ETB reversed$/m);
    for (const args of [
      ['--wallet', 'paypal'],
      ['--refund', '--wallet', 'mtn'],
    ])
      expect(await playDemo(dataFolder, ...args)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('walleta, walletb, telebirr'),
      });
  });

  test('refuses a second start on the same data, and continues', async () => {
    const pid = String(run.process.pid);
    await expectRefusal(
      start({ dataFolder }),
      `already running on ${dataFolder} (process ${pid})`,
      `kill ${pid}`,
    );
    expect((await post(before, '/api/v1/register', anOrder('still-there'))).status).toBe(201);
  });

  test.each(['core', 'nats-server', 'postgres'])(
    'restarts %s when it exits, reports that, and continues with the same data',
    async (name) => {
      const [pid = 0] = [...(await run.processes())].find(([, its]) => its === name) ?? [];
      expect(pid).toBeGreaterThan(0);
      process.kill(pid, 'SIGKILL');
      await waitUntil('it says so', () => run.output().includes(`! ${name} is running again`));
      await waitUntil('orders are registered again', async () => {
        const order = anOrder(`after-${name}`);
        const answer = await post(before, '/api/v1/register', order).catch(() => undefined);
        return answer?.status === 201;
      });
      await expectOrder(run, 'order-1');
      expect(run.output()).toContain(`! ${name} ended (killed by SIGKILL); starting it again at once`);
    },
  );

  test('has the same keys and orders when it is started again at once after it was killed itself', async () => {
    const processes = await run.processes();
    expect([...processes.values()]).toEqual(
      expect.arrayContaining(['all', 'core', 'rest-facade', 'webhooks', 'nats-server', 'postgres']),
    );
    run.process.kill('SIGKILL');
    run = start({ dataFolder });
    await expectOrder(run, 'order-1');
    await untilGone(processes.keys());
    const after = await run.demo();
    expect(after.merchant).toEqual(before.merchant);
    expect(after.tokens).toEqual(before.tokens);
  });

  test('starts again without demo.json after every one of its processes was killed at once, with the same tokens and orders and new keys', async () => {
    const killed = await run.processes();
    // The kernel ends some of them together with their parent.
    for (const pid of killed.keys()) killIfRunning(pid, 'SIGKILL');
    await untilGone(killed.keys());
    await rm(join(dataFolder, 'demo.json'));
    const args = JSON.stringify(command);
    const script = `require('node:child_process').spawn(process.execPath, ${args}, { stdio: ['ignore', 1, 2, 'ipc'] })`;
    run = start({ dataFolder, command: [process.execPath, '-e', script] });
    await expectOrder(run, 'order-1');
    const after = await run.demo();
    expect(after.tokens).toEqual(before.tokens);
    expect(after.merchant.id).toBe(before.merchant.id);
    expect(after.merchant.test_key).not.toBe(before.merchant.test_key);
    expect(run.output()).toContain(`Demo merchant ${before.merchant.id} has new keys`);
    expect((await post(after, '/api/v1/register', anOrder('new-key-1'))).status).toBe(201);
  });

  test('stops everything when the process that started it is killed', async () => {
    await beginRecovery(await run.demo());
    const processes = await run.processes();
    run.process.kill('SIGKILL');
    await untilGone(processes.keys());
    expect(run.output()).toContain('Stopped. The data are kept in');
  });

  test('says after a restore that payments wait, and which command shows the reason', async () => {
    run = start({ dataFolder });
    await run.ready();
    expect(run.output()).toMatch(
      /The database was restored, so new payments wait [^]* gatehouse restore status$/m,
    );
    expect(run.output()).not.toContain('/api/v1/register');
  });

  test('leaves nothing running when it is killed itself', async () => {
    const processes = await run.processes();
    run.process.kill('SIGKILL');
    await untilGone(processes.keys());
  });

  test('npm run demo reports that Gatehouse has stopped', async () => {
    const { exitCode, stderr } = await playDemo(dataFolder);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('no answer from');
    expect(stderr).toContain('npm start');
  });

  test('stops what it has started when it is interrupted while core is starting', () =>
    expectInterruption(start({ dataFolder }), 'core'));

  test('refuses to start when its secrets or its database are gone, and when its database does not start', async () => {
    const secrets = join(dataFolder, 'secrets.json');
    await rename(secrets, `${secrets}.away`);
    await expectRefusalWithin({ dataFolder }, 'secrets.json is missing', 'Restore it from a backup');
    await rename(`${secrets}.away`, secrets);

    const postgres = join(dataFolder, 'postgres');
    await rename(postgres, `${postgres}.away`);
    await expectRefusalWithin(
      { dataFolder },
      `its database ${postgres} does not exist. Put it back`,
      'restore a backup: docs/operating/backup.md',
    );
    expect(existsSync(postgres)).toBe(false);
    await rename(`${postgres}.away`, postgres);

    // The message contains the end of the database's log.
    await writeFile(join(postgres, 'PG_VERSION'), '12\n');
    await expectRefusalWithin(
      { dataFolder },
      'postgres did not start',
      'database files are incompatible with server',
    );
  });
});
