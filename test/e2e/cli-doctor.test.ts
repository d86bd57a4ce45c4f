import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { startTemporaryPostgres } from '../../src/main/local/temporary-servers.ts';
import { listenLocally } from '../support/listen-locally.ts';
import { createPrivateAuthority } from '../support/private-authority.ts';
import { queryOnce } from '../support/database-connections.ts';
import { ownNats } from '../faults/stoppable-servers.ts';
import { startStack } from '../support/stack.ts';
import type { Facade } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { deadAddress, openCommandLine, widthOf } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';
import { shared, sharedStack } from '../support/shared-stack.ts';

// The PostgreSQL of the test run has no durability, which doctor warns of.
const postgres = shared(() => startTemporaryPostgres({ durable: true }));
const stack = sharedStack({
  settings: {
    get GATEHOUSE_DATABASE_URL() {
      return postgres.url;
    },
    // No wallets process runs here, which doctor would find fault with.
    GATEHOUSE_WALLETS: '{"wallets":[]}',
  },
  checkouts: 1,
  webhooks: 1,
});
const cli = shared(() => openCommandLine({}));
let facade: Facade;

/** Writes the `demo.json` of `npm start`, with a test's own values. */
async function writeDemo(to: CommandLine, own: Readonly<Record<string, unknown>>): Promise<void> {
  const demo = {
    rest: { production: facade.production, sandbox: facade.sandbox },
    grpc: stack.addresses[0],
    tokens: { operator: stack.tokens.operator, reader: stack.tokens.reader },
    ...own,
  };
  await writeFile(join(to.dataFolder, 'demo.json'), JSON.stringify(demo));
}

const webhooksAddress = (): string => String(stack.webhooks[0]?.ready['grpc']);

beforeAll(async () => {
  facade = stack.facades[0]!;
  await writeDemo(cli, { checkout: stack.checkouts[0]!.origin, webhooks: { grpc: webhooksAddress() } });
  await waitUntil('events are taken in', async () => {
    const { isTakingIn } = await stack.webhookClient('reader').getPipelineStatus({});
    return isTakingIn;
  });
});

describe('when all processes run', () => {
  test('every check is ok, and the exit code is 0', async () => {
    const { exitCode, stdout, stderr } = await cli.run('doctor');

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const check of [
      'Node',
      'reachable',
      'clock here',
      'database',
      'database pool',
      'migrations',
      'broker',
      'event relay',
      'order histories',
    ])
      expect(stdout).toMatch(new RegExp(`^ {2}ok +${check} `, 'm'));
    expect(stdout).toMatch(
      new RegExp(`^REST sandbox ${facade.sandbox}\n {2}ok +ready +/readyz answers 200$`, 'm'),
    );
    expect(stdout).toMatch(new RegExp(`^webhooks ${webhooksAddress()}\n {2}ok +reachable `, 'm'));
    for (const check of [
      'event intake',
      'deliveries',
      'endpoints',
      'signing secrets',
      'reconciler',
      'recorded changes',
    ])
      expect(stdout).toMatch(new RegExp(`^ {2}ok +${check} `, 'm'));
    expect(stdout).toMatch(/^checkout http:\S+\n {2}ok +ready +\/readyz answers 200$/m);
    expect(stdout).toContain('Everything is in order.');
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
  });

  test('--json prints each check with its result, code, detail and advice', async () => {
    const report = await cli.json('doctor');

    expect(report).toMatchObject({
      result: 'ok',
      checks: expect.arrayContaining([
        {
          subject: `core ${stack.addresses[0]!}`,
          check: 'database',
          result: 'ok',
          code: 'healthy',
          detail: expect.stringContaining('PostgreSQL 18'),
          advice: '',
        },
      ]),
    });
  });

  test('a clock that is off by more than two seconds is a warning, and no failure', async () => {
    const ahead = await openCommandLine(
      { GATEHOUSE_DATA_DIR: cli.dataFolder },
      { now: () => new Date(Date.now() + 60_000), nodeVersion: 'v22.18.0' },
    );

    const { exitCode, stdout } = await ahead.run('doctor');
    await ahead.stop();

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^ {2}warn +clock here +this machine's clock is (5\d|60)\.\d s ahead of the core's$/m,
    );
    expect(stdout).toMatch(/^ {2}warn +Node +v22\.18\.0$/m);
    expect(stdout).toContain('2 warnings, no failure.');
  });
});

/** The report of doctor with these settings and, if it is given, this difference of demo.json. */
async function reportWith(
  settings: Readonly<Record<string, string>>,
  demo?: Readonly<Record<string, unknown>>,
) {
  const own = await openCommandLine(settings);
  if (demo !== undefined) await writeDemo(own, demo);
  const report = await own.run('doctor');
  await own.stop();
  return report;
}

describe('when a process or a setting is missing', () => {
  test('a core without a listener fails, and the other core is still checked', async () => {
    const dead = await deadAddress();

    const { exitCode, stdout } = await reportWith({
      GATEHOUSE_CORE_ADDRESSES: `${dead},${stack.addresses[0]!}`,
      GATEHOUSE_SERVICE_TOKEN: stack.tokens.operator,
    });

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^core ${dead}\n {2}FAIL +reachable +no core answers at ${dead} `, 'm'),
    );
    expect(stdout).toMatch(
      /^ +> Start Gatehouse on this machine: npm start, or with systemd: systemctl start/m,
    );
    expect(stdout).toMatch(/^ {2}ok +database /m);
  });

  test('servers with and without TLS in place of each other are named as such', async () => {
    const { folder, issue } = await createPrivateAuthority();
    const { own: files } = await issue('doctor', 'IP:127.0.0.1');
    const [key, cert] = await Promise.all([readFile(files.key), readFile(files.certificate)]);
    const answerAll = (_request: unknown, response: ServerResponse) => response.end();
    const withTls = await listenLocally(createTlsServer({ key, cert }, answerAll));
    const without = await listenLocally(createServer(answerAll));
    const { host: tls } = new URL(withTls.origin);
    const elsewhere = await openCommandLine({
      GATEHOUSE_CORE_ADDRESSES: tls,
      GATEHOUSE_SERVICE_TOKEN: stack.tokens.operator,
    });
    const urls = [withTls.origin, `https://${new URL(without.origin).host}`, `https://${tls}`];

    const { stdout } = await elsewhere.run('doctor', ...urls.flatMap((url) => ['--rest', url]));

    await elsewhere.stop();
    for (const server of [withTls, without]) await server.close();
    await rm(folder, { recursive: true });
    const text = stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain('if it speaks TLS, set GATEHOUSE_TLS_CA_FILE here');
    expect(text).toContain('> If it speaks TLS, give its address with https:');
    expect(text).toContain('it speaks no TLS > Give its address with http:');
    expect(text).toMatch(/certificate is not accepted \(.+\) > Give the address that the certificate names/);
  });

  test('a REST listener that does not answer fails', async () => {
    const dead = `http://${await deadAddress()}`;

    const { exitCode, stdout } = await cli.run('doctor', '--rest', dead);

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^REST ${dead}\n {2}FAIL +ready +no answer: connect ECONNREFUSED `, 'm'),
    );
    expect(stdout).toMatch(/^ {2}ok +reachable /m);
  });

  const refused = 'FAIL +ready +no answer: connect ECONNREFUSED ';
  test.each([
    ['checkout', (dead: string) => ({ checkout: `http://${dead}` }), refused],
    ['wallets', (dead: string) => ({ wallet_callbacks: `http://${dead}` }), refused],
    [
      'webhooks',
      (dead: string) => ({ webhooks: { grpc: dead } }),
      'FAIL +reachable +no webhooks process answers at ',
    ],
  ])('a stopped %s process fails, and the others are still checked', async (process, demo, found) => {
    const dead = await deadAddress();

    const { exitCode, stdout } = await reportWith({}, demo(dead));

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${process} (http://)?${dead}\n {2}${found}`, 'm'));
    expect(stdout.includes(`> Start the ${process} process`)).toBe(process !== 'webhooks');
    expect(stdout).toMatch(/^ {2}ok +database /m);
  });

  test('webhooks processes in the settings get the token in the settings, not that of npm start', async () => {
    const address = `localhost:${webhooksAddress().split(':')[1]}`;

    const { stdout } = await reportWith({ GATEHOUSE_WEBHOOKS_ADDRESSES: address }, {});

    expect(stdout).toMatch(/^webhooks localhost:\d+\n {2}ok +reachable /m);
    expect(stdout).toMatch(/^ {2}FAIL +pipeline +the webhooks process does not know this service token$/m);
  });

  test('when a process accepts connections and does not answer, the advice names its log', async () => {
    const mute = await listenLocally(createServer(() => undefined));

    const { exitCode, stdout } = await reportWith({}, { checkout: mute.origin });

    await mute.close();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^ {2}FAIL +ready +no answer within 5 seconds$/m);
    expect(stdout).toMatch(/^ +> Read the log of the checkout process/m);
  });

  test.each([
    [
      'with a wrong token the diagnosis fails, and core is still shown as running',
      () => ({
        GATEHOUSE_CORE_ADDRESSES: stack.addresses[0]!,
        GATEHOUSE_SERVICE_TOKEN: 'f'.repeat(32),
      }),
      [/^ {2}ok +reachable /m, /^ {2}FAIL +diagnosis +the core does not know this service token$/m],
    ],
    [
      'without the address of a core, doctor says what to start or to set',
      () => ({}),
      [/^ {2}FAIL +settings +no core is known/m, /^ {2}ok +Node /m],
    ],
  ])('%s', async (_what, settings, lines) => {
    const { exitCode, stdout } = await reportWith(settings());

    expect(exitCode).toBe(1);
    for (const line of lines) expect(stdout).toMatch(line);
  });

  test('a database that logs phones, servers that stop responding while connections are open, and a database that is down are found', async () => {
    const settings = { log_error_verbosity: 'default' };
    const [database, broker] = [await startTemporaryPostgres({ durable: true, settings }), await ownNats()];
    await broker.start();
    const frozen = await startStack({
      facades: 0,
      webhooks: 1,
      settings: { GATEHOUSE_DATABASE_URL: database.url, GATEHOUSE_NATS_URL: broker.url },
    });
    const operator = await openCommandLine({
      GATEHOUSE_CORE_ADDRESSES: frozen.addresses[0]!,
      GATEHOUSE_WEBHOOKS_ADDRESSES: String(frozen.webhooks[0]?.ready['grpc']),
      GATEHOUSE_SERVICE_TOKEN: frozen.tokens.operator,
    });
    await waitUntil('both are connected, and doctor warns of the phones in the log', async () => {
      const { stdout } = await operator.run('doctor');
      const warns = /^ {2}warn +database +PostgreSQL writes failed statements into its log/m.test(stdout);
      return warns && stdout.match(/^ {2}ok +broker /gm)?.length === 2;
    });
    const file = await queryOnce<{ text: string }>(
      database.url,
      "select pg_read_file('postmaster.pid') as text",
    );
    const postmaster = Number.parseInt(file[0]!.text, 10);

    broker.freeze();
    process.kill(postmaster, 'SIGSTOP');
    const { exitCode, stdout } = await operator.run('doctor');
    process.kill(postmaster, 'SIGCONT');
    broker.thaw();
    await database.stop();
    const afterStop = await waitUntil('doctor sees it', async () => {
      const outcome = await operator.run('doctor');
      const isDown = !outcome.stdout.includes('PostgreSQL answers on open connections');
      return isDown && /^ +> Do what the finding says/m.test(outcome.stdout) && outcome;
    });
    const list = await operator.run('merchant', 'list');

    await operator.stop();
    await frozen.stop();
    await broker.remove();
    expect(afterStop).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^ {2}FAIL +database /m) });
    expect(list.exitCode).toBe(5);
    expect(list.stderr).toContain('the database does not answer');
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /^ {2}FAIL +database +PostgreSQL answers on open connections, but has not accepted a new one/m,
    );
    expect(stdout).toMatch(/^ {2}warn +broker +no answer within 3 seconds\n +> Read the log of nats-server/m);
    expect(stdout).toMatch(/^ {2}warn +broker +NATS is not connected, or does not answer$/m);
  });
});
