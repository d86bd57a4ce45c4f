import { beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { startTemporaryPostgres } from '../../src/main/local/temporary-servers.ts';
import { startStack } from '../support/stack.ts';
import type { Facade } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { deadAddress, openCommandLine, widthOf } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';
import { shared, sharedStack } from '../support/shared-stack.ts';

// The PostgreSQL of the test run has no durability, which doctor warns of.
const postgres = shared(
  () => startTemporaryPostgres({ durable: true }),
  ({ stop }) => stop(),
);
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
const cli = shared(
  () => openCommandLine({}),
  ({ stop }) => stop(),
);
let facade: Facade;

/** What `npm start` writes, with the differences of a test. */
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
    for (const check of ['event intake', 'deliveries', 'endpoints', 'signing secrets', 'reconciler'])
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
      /^ {2}warn +clock here +this machine's clock is (59|60)\.\d s ahead of the core's$/m,
    );
    expect(stdout).toMatch(/^ {2}warn +Node +v22\.18\.0$/m);
    expect(stdout).toContain('2 warnings, no failure.');
  });
});

describe('when a process or a setting is missing', () => {
  test('an address without a listener fails, and the other core is still checked', async () => {
    const dead = await deadAddress();
    const both = await openCommandLine({
      GATEHOUSE_CORE_ADDRESSES: `${dead},${stack.addresses[0]!}`,
      GATEHOUSE_SERVICE_TOKEN: stack.tokens.operator,
    });

    const { exitCode, stdout } = await both.run('doctor');

    await both.stop();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^core ${dead}\n {2}FAIL +reachable +no core answers at ${dead} `, 'm'),
    );
    expect(stdout).toMatch(/^ +> Start Gatehouse on this machine with: npm start$/m);
    expect(stdout).toMatch(/^ {2}ok +database /m);
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

  test.each([
    ['checkout', 'checkout'],
    ['wallets', 'wallet_callbacks'],
  ])('a stopped %s process fails, and is named', async (process, name) => {
    const dead = `http://${await deadAddress()}`;
    const own = await openCommandLine({});
    await writeDemo(own, { [name]: dead });

    const { exitCode, stdout } = await own.run('doctor');

    await own.stop();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^${process} ${dead}\n {2}FAIL +ready +no answer: connect ECONNREFUSED `, 'm'),
    );
    expect(stdout).toContain(`> Start the ${process} process`);
    expect(stdout).toMatch(/^ {2}ok +reachable /m);
  });

  test('a stopped webhooks process fails, and the other processes are still checked', async () => {
    const dead = await deadAddress();
    const own = await openCommandLine({});
    await writeDemo(own, { webhooks: { grpc: dead } });

    const { exitCode, stdout } = await own.run('doctor');

    await own.stop();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^webhooks ${dead}\n {2}FAIL +reachable +no webhooks process answers at ${dead} `, 'm'),
    );
    expect(stdout).toMatch(/^ {2}ok +database /m);
  });

  test('webhooks processes in the settings get the token in the settings, not that of npm start', async () => {
    const own = await openCommandLine({
      GATEHOUSE_WEBHOOKS_ADDRESSES: `localhost:${webhooksAddress().split(':')[1]}`,
    });
    await writeDemo(own, {});

    const { stdout } = await own.run('doctor');

    await own.stop();
    expect(stdout).toMatch(/^webhooks localhost:\d+\n {2}ok +reachable /m);
    expect(stdout).toMatch(/^ {2}FAIL +pipeline +the webhooks process does not know this service token$/m);
  });

  test('when a process accepts connections and does not answer, the advice names its log', async () => {
    const mute = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const address = mute.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const own = await openCommandLine({});
    await writeDemo(own, { checkout: `http://127.0.0.1:${port}` });

    const { exitCode, stdout } = await own.run('doctor');

    await own.stop();
    mute.closeAllConnections();
    mute.close();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^ {2}FAIL +ready +no answer within 5 seconds$/m);
    expect(stdout).toMatch(/^ +> Read the log of the checkout process/m);
  });

  test('with a wrong token the diagnosis fails, and core is still shown as running', async () => {
    const wrong = await openCommandLine({
      GATEHOUSE_CORE_ADDRESSES: stack.addresses[0]!,
      GATEHOUSE_SERVICE_TOKEN: 'f'.repeat(32),
    });

    const { exitCode, stdout } = await wrong.run('doctor');

    await wrong.stop();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^ {2}ok +reachable /m);
    expect(stdout).toMatch(/^ {2}FAIL +diagnosis +the core does not know this service token$/m);
  });

  test('without the address of a core, doctor says what to start or to set', async () => {
    const bare = await openCommandLine({});

    const { exitCode, stdout } = await bare.run('doctor');

    await bare.stop();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^ {2}FAIL +settings +no core is known/m);
    expect(stdout).toMatch(/^ {2}ok +Node /m);
  });

  test('doctor reports a database that logs phones, and one that is down, where other commands exit with code 5', async () => {
    const own = await startTemporaryPostgres({ durable: true, settings: { log_error_verbosity: 'default' } });
    const lost = await startStack({ facades: 0, settings: { GATEHOUSE_DATABASE_URL: own.url } });
    const operator = await openCommandLine({
      GATEHOUSE_CORE_ADDRESSES: lost.addresses[0]!,
      GATEHOUSE_SERVICE_TOKEN: lost.tokens.operator,
    });
    const before = await operator.run('doctor');
    await own.stop();

    const doctor = await waitUntil('doctor sees it', async () => {
      const outcome = await operator.run('doctor');
      return outcome.exitCode === 1 && outcome;
    });
    const list = await operator.run('merchant', 'list');

    await operator.stop();
    await lost.stop();
    expect(before.stdout).toMatch(/^ {2}warn +database +PostgreSQL writes failed statements into its log/m);
    expect(doctor.stdout).toMatch(/^ {2}FAIL +database /m);
    expect(doctor.stdout).toMatch(/^ +> do what the finding says/m);
    expect(list.exitCode).toBe(5);
    expect(list.stderr).toContain('the database does not answer');
  });
});
