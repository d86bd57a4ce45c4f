import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { request } from 'undici';
import { runCli } from '../../src/cli/program.ts';
import type { CliParts } from '../../src/cli/program.ts';
import type { SignedReport } from '../../src/cli/prove/report.ts';
import { readCliSettings } from '../../src/cli/settings.ts';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import type { OpenLink } from '../../src/main/prove/gateway.ts';
import { openNetworkLink } from '../../src/main/prove/network-link.ts';
import { proveTools } from '../../src/main/prove/prove-tools.ts';
import { listenLocally } from '../support/listen-locally.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';
import { programFolder } from '../support/servers.ts';
import { queryOnce } from '../support/database-connections.ts';
import { sharedFolder } from '../support/shared-folder.ts';
import { sql } from '../support/sql.ts';

const root = resolve(import.meta.dirname, '../..');
const cleanUps = closersOfEachTest();
const folder = sharedFolder();

// PostgreSQL runs as another user.
beforeAll(() => chmod(folder, 0o711));

/** Runs a command as src/main/cli.ts does. `openLink` is the network of the campaign, by default that of users. */
async function run(args: readonly string[], openLink?: OpenLink) {
  const printed = { stdout: '', stderr: '' };
  const environment = {
    ...process.env,
    GATEHOUSE_LOG_LEVEL: 'info',
    GATEHOUSE_WALLETS_FILE: '/real/wallets',
    GATEHOUSE_PROGRAMS: programFolder(),
  };
  const never = (): never => {
    throw new Error('a running gateway was called');
  };
  const parts: Omit<CliParts, 'walletTools' | 'backupTools'> = {
    readConfig: () => readCliSettings({ GATEHOUSE_DATA_DIR: folder }),
    openCore: never,
    openWebhooks: never,
    proveTools: proveTools(environment, root, openLink === undefined ? {} : { openLink }),
    beginRehearsal: () => Promise.reject(new Error('no rehearsal')),
    readInput: (file) => readFile(file, 'utf8'),
    stdout: (text) => (printed.stdout += text),
    stderr: (text) => (printed.stderr += text),
    now: () => new Date(),
    interruption: () => new AbortController().signal,
    nodeVersion: process.version,
  };
  const unused = { schema: never, check: never, registerUrls: never };
  const exitCode = await runCli(['prove', ...args], {
    ...parts,
    walletTools: unused,
    backupTools: { write: never, verify: never, restore: never },
  });
  return { exitCode, ...printed };
}

const readReport = async (file: string): Promise<SignedReport> =>
  JSON.parse(await readFile(file, 'utf8')) as SignedReport;

test('a campaign passes, and its report can be verified until someone changes it', async () => {
  const file = join(folder, 'passed.json');
  // With this seed the first orders include every kind, and the broker is unavailable long enough for some orders.
  const args = ['--only', 'core:kill,broker:network', '--rate', '1', '--seed', '395', '--report', file];
  const campaign = await run(args);
  const verified = await run(['verify', file]);
  const changed = join(folder, 'changed.json');
  const text = await readFile(file, 'utf8');
  await writeFile(changed, text.replace(/"orders_acknowledged": (\d+)/, '"orders_acknowledged": 1$1'));
  const refused = await run(['verify', changed]);
  const otherFolder = join(folder, 'other');
  const [again, elsewhere] = [await run(args), await run(['verify', file, '--folder', otherFolder])];

  expect(campaign).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('Verdict            PASSED\n'),
  });
  const { report } = await readReport(file);
  expect(report.faults.map(({ target, fault, tried }) => [target, fault, tried]).sort()).toEqual([
    ['broker', 'network', true],
    ['core', 'kill', true],
  ]);
  expect(report.invariants.map(({ result }) => result)).toEqual(report.invariants.map(() => 'held'));
  expect(report.counts['orders_completed']).toBeGreaterThan(5);
  expect(report.configuration).toMatchObject({
    settings: { GATEHOUSE_LOG_LEVEL: 'info' },
    settings_left_out: expect.arrayContaining(['GATEHOUSE_WALLETS_FILE']),
  });
  expect(verified).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('This is the expected key.'),
  });
  expect(refused).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('the report was changed: its signature does not match'),
  });
  expect(again).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('exists already') });
  expect(elsewhere.stdout).toContain('No expected key is known');
});

/** Stands between two processes and sees their HTTP requests. `handle` may answer one itself, or forward it more than once. */
async function openHttpProxy(
  origin: string,
  handle: (
    message: IncomingMessage,
    body: Buffer,
    forward: (headers?: Readonly<Record<string, string>>) => Promise<{ status: number; text: string }>,
  ) => Promise<{ status: number; text: string }>,
) {
  const server = createServer((message, response) => {
    const answer = async (): Promise<void> => {
      const body = Buffer.concat(await message.toArray());
      const { host: _host, connection: _connection, 'content-length': _length, ...headers } = message.headers;
      const forward = async (other: Readonly<Record<string, string>> = {}) => {
        const answered = await request(`${origin}${message.url ?? ''}`, {
          method: (message.method ?? 'GET') as 'GET',
          headers: { ...headers, ...other },
          body: body.length === 0 ? null : body,
        });
        return { status: answered.statusCode, text: await answered.body.text() };
      };
      const { status, text } = await handle(message, body, forward);
      response.writeHead(status, { 'content-type': 'application/json' }).end(text);
    };
    answer().catch(() => response.destroy());
  });
  const { origin: own, close } = await listenLocally(server);
  return { port: Number(new URL(own).port), interrupt: () => undefined, restore: () => undefined, close };
}

test('a double charge and a lost order fail the campaign by name, on servers of the operator that had an earlier campaign', async () => {
  const database = await createTestDatabase();
  cleanUps.push(database.drop);
  // The gateway of the earlier campaign had another master key.
  await queryOnce(
    database.url,
    sql`
      insert into core.database_life (lineage, home, seen_at, master_key_check)
      values (${randomUUID()}, core.database_home(), now(), '\\x01')`,
  );
  const broker = await startTemporaryNats();
  cleanUps.push(broker.stop);
  let isDoubled = false;
  const lost: string[] = [];
  // The lost order is one that no registration has stored before its payment.
  const registered = new Set<string>();
  const openLink: OpenLink = ({ from, to, server }) => {
    const origin = `http://${server.host}:${server.port}`;
    if (from === 'wallets' && to === 'wallet-simulator')
      return openHttpProxy(origin, async ({ url = '' }, body, forward) => {
        // The campaign cannot tell whose charge it is when several orders share the payer's number.
        const isOfOneOrder = /"251[79]01[0-9]{6}"/.test(body.toString());
        if (url.endsWith('/merchantpay') && !isDoubled && isOfOneOrder) {
          isDoubled = true;
          const { status } = await forward({ 'x-correlationid': randomUUID() });
          isDoubled = status === 202;
        }
        return forward();
      });
    if (to === 'rest-facade')
      return openHttpProxy(origin, ({ url = '' }, body, forward) => {
        const { order_number: number = '', phone = '' } = JSON.parse(body.toString()) as Record<
          string,
          string
        >;
        if (url === '/api/v1/register') registered.add(number);
        const isNew = /^251[79]01/.test(phone) && !registered.has(number);
        const isOfOneOrder = lost.length === 0 ? isNew : lost[0] === number;
        if (!url.startsWith('/api/v1/direct') || !isOfOneOrder) return forward();
        lost[0] = number;
        return Promise.resolve({
          status: 201,
          text: '{"message":"Payment started","payment_status":"PENDING"}',
        });
      });
    return openNetworkLink(server);
  };
  const file = join(folder, 'failed.json');
  const servers = ['--database-url', database.url, '--nats-url', broker.url];
  const campaign = await run(
    [...servers, '--only', 'webhooks:freeze,database:kill', '--rate', '1', '--seed', '12', '--report', file],
    openLink,
  );

  expect(campaign).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('Verdict            FAILED\n'),
  });
  const { report } = await readReport(file);
  const violationsOf = (name: string) =>
    report.invariants.find((each) => each.name === name)?.violations ?? [];
  expect(violationsOf('acknowledged_orders_kept')).toEqual([
    { order_number: lost[0], seen: 'the database has no such order; verify answers 404' },
  ]);
  expect(violationsOf('charged_at_most_once')).toEqual([
    { order_number: expect.stringMatching(/^P\d+-M-\d+$/), seen: expect.stringContaining('charged 2 times') },
  ]);
  expect(campaign.stdout).toContain(`  ${lost[0] ?? ''}: the database has no such order`);
  expect(violationsOf('money_adds_up')).toHaveLength(1);
  expect(violationsOf('webhooks_delivered')).toEqual([]);
  expect(report.faults.find(({ target }) => target === 'database')).toMatchObject({
    tried: false,
    detail: 'the database runs elsewhere, so only its network can be attacked',
  });
  expect(report.configuration.database).toBe(new URL(database.url).host + new URL(database.url).pathname);
  expect(JSON.stringify(report)).not.toContain(new URL(database.url).password);
});

test('a campaign refuses a database with live keys or other merchants and says what it found, and refuses unreachable servers', async () => {
  const database = await createTestDatabase();
  cleanUps.push(database.drop);
  await queryOnce(
    database.url,
    sql`with made as (
        insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
        values (${randomUUID()}, 'Corner Shop', 'ACTIVE', true, 1800, now(), now()) returning id
      )
      insert into core.api_keys (merchant_id, id, environment, prefix, key_hash, label, created_at)
      select id, id, 'PRODUCTION', 'svc_live_x', sha256('x'), '', now() from made`,
  );

  const refused = await run(['--database-url', database.url]);
  const unreachable = await run([
    '--nats-url',
    'nats://127.0.0.1:1',
    '--database-url',
    'postgres://127.0.0.1:1/x',
  ]);

  expect(refused).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('holds 1 live key, 1 merchant that no campaign has made'),
  });
  expect(unreachable).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('cannot be used') });
});
