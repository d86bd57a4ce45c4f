import { describe, expect, test } from '@jest/globals';
import { runCommand } from '../../support/run-command.ts';
import { gatehouseVersion } from '../../../src/cli/version.ts';

/** Runs a command that must end before it looks for a core. */
const run = (...args: readonly string[]) => runWith({ GATEHOUSE_DATA_DIR: '/nowhere' }, ...args);
const runWidth = (width: number, ...args: readonly string[]) =>
  runCommand(args, {}, { nodeVersion: 'v24.0.0', width });
const runWith = (settings: Readonly<Record<string, string>>, ...args: readonly string[]) =>
  runCommand(args, settings, { nodeVersion: 'v24.0.0' });

describe('help', () => {
  test.each([
    [['--help']],
    [['merchant', '--help']],
    [['help', 'key']],
    [['key', 'issue', '--help']],
    [['webhook', '--help']],
    [['listen', '--help']],
    [['certify', '--help']],
    [['payment', '--help']],
    [['prove', 'run', '--help']],
    [['rehearse', '--help']],
  ])('is printed to stdout without an error, in 100 columns: %j', async (args) => {
    const { exitCode, stdout, stderr } = await run(...args);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: gatehouse /);
    expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });

  test('fits a terminal of 80 columns, from the lists of commands to the exit codes', async () => {
    const tooWide: string[] = [];
    const seen = async (...command: readonly string[]): Promise<void> => {
      const { stdout } = await runWidth(80, ...command, '--help');
      tooWide.push(...stdout.split('\n').filter((line) => line.length > 80));
      const [, list = ''] = /^Commands:\n((?: .*\n)*)/m.exec(stdout) ?? [];
      for (const [, name = ''] of list.matchAll(/^ {2}(\S+)/gm))
        if (name !== 'help') await seen(...command, name);
    };

    await seen();

    expect(tooWide).toEqual([]);
  });

  test.each([
    ['an option without which the command does nothing', ['merchant', 'create'], /--name .* \(required\)$/m],
    ['the environments that a list shows', ['key', 'list'], /--environment .*; default: both$/m],
    ['when a redelivery needs the environment', ['webhook', 'redeliver'], /--environment .*; with --since/m],
  ])('names %s', async (_, command, line) => {
    const { stdout } = await run(...command, '--help');

    expect(stdout).toMatch(line);
  });

  test.each([[['webhook']], [['webhook', 'hosts']], [['user']], [['user', 'requests']]])(
    'does not show former names of commands: %j',
    async (command) => {
      const { stdout } = await run(...command, '--help');

      expect(stdout).not.toContain('|');
    },
  );

  test('does not call an option required that has a default', async () => {
    const { stdout } = await run('order', 'list', '--help');

    expect(stdout).not.toContain('(required)');
  });

  test.each([
    ['prove', 'run', '--rounds'],
    ['backup', 'write', '--output'],
    ['restore', 'run', '--from'],
    ['reconcile', 'run', '--wallet'],
  ])('of %s leads to the options of its default command', async (name, defaultCommand, option) => {
    expect((await run(name, '--help')).stdout).toContain(`gatehouse ${name} ${defaultCommand} --help`);
    expect((await run(name, defaultCommand, '--help')).stdout).toContain(option);
  });

  test('a list of commands marks the arguments that a command requires', async () => {
    const { stdout } = await run('order', '--help');

    expect(stdout).toMatch(/^ {2}show \[options\] \[merchant_id\] <order> /m);
    expect(stdout).toMatch(/^ {2}list \[options\] \[merchant_id\] /m);
    expect(stdout).toMatch(/^ {2}help \[command\] /m);
  });

  test('--version prints the version of this release', async () => {
    expect(await run('--version')).toEqual({
      exitCode: 0,
      stdout: `${gatehouseVersion}\n`,
      stderr: '',
    });
  });

  test('names the exit codes, and the settings with the addresses and the token', async () => {
    const { stdout } = await run('--help');

    expect(stdout).toMatch(
      /Exit codes:\n {2}0 .*\n {2}1 .*(\n {5}.*)+\n {2}2 .*\n {2}3 .*\n {2}4 .*(\n {5}.*)+\n {2}5 /,
    );
    expect(stdout).toContain('GATEHOUSE_CORE_ADDRESSES, both with the token in GATEHOUSE_SERVICE_TOKEN');
  });

  test('of a command has the global options', async () => {
    const { stdout } = await run('key', 'issue', '--help');

    for (const option of ['--environment', '--label', '--address', '--json', '--verbose'])
      expect(stdout).toContain(option);
  });

  test('answers an incomplete command, on stderr with exit code 2', async () => {
    const { exitCode, stdout, stderr } = await run('merchant');

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^Usage: gatehouse merchant /);
    expect(stderr).not.toMatch(/^error/m);
  });
});

describe('invalid input ends with exit code 2 and the valid form', () => {
  const eitherOr = 'the command needs either one delivery without options, or --since';
  test.each([
    ['merchnt list', "unknown command 'merchnt'"],
    ['restore accept --erasures --environment sandbox --reason x', '--environment belongs to --wallet'],
    ['restore accept --merchants --despite-unaccepted --reason x', 'belongs to --accounts'],
    ['merchant list --limt 3', '(Did you mean --limit?)'],
    ['merchant show', 'the command names no merchant'],
    ['merchant create', "required option '--name <name>' not specified"],
    ['merchant show mer_1 mer_2', 'too many arguments'],
    ['audit verify mer_1', 'Name the merchant by --merchant'],
    ['merchant create --name x --session-lifetime soon', 'Write it as 90s, 30m, 24h, 7d or 1h30m.'],
    ['key issue mer_1 --environment staging', 'Use one of: sandbox, production.'],
    ['order list mer_1 --status pending,paid', 'Use one of: pending, completed, failed, expired.'],
    ['order list mer_1 --since 2026-02-30', 'Write it as 2026-01-31 (UTC)'],
    ['order list mer_1 --from 2026-02-30', 'Write it as 2026-01-31 (UTC)'],
    ['merchant list --limit 0', 'Use a whole number from 1 to 999999.'],
    ['merchant list --limit 1000000', 'Use a whole number from 1 to 999999.'],
    ['reconcile run --day 2026-01-31T00:00:00Z', 'Write it as 2026-01-31 (UTC).'],
    ['merchant list --address nowhere', 'Write it as host:port'],
    ['doctor --rest localhost', 'Write it as a URL'],
    ['key issue mer_1 --scopes payouts', 'Use none, or one of: refunds.'],
    ['key set-scopes mer_1 key_1', "required option '--scopes <scope,…>' not specified"],
    ['refund create mer_1 INV-1', "required option '--reason <text>' not specified"],
    ['refund create mer_1 INV-1 --reason x --wait long', 'Write it as 90s, 30m, 24h, 7d or 1h30m.'],
    [
      'settlement propose mer_1 ord_1 --outcome paid --reason x --provider-reference y',
      'Use a payment attempt (pat_…), a stray payment',
    ],
    ['refund show', "missing required argument 'refund'"],
    [
      'refund list --status lost',
      'Use one of: awaiting_approval, requested, sent, unknown, completed, failed.',
    ],
    ['merchant update mer_1 --refund-approval-above 500', 'Write it as ETB=1000'],
    ['merchant update mer_1 --refund-approval-above all', 'Write it as ETB=1000'],
    ['merchant update mer_1 --largest-amounts all', 'Write it as ETB=50000'],
    ['merchant update mer_1 --largest-amounts 50000', 'Write it as ETB=50000'],
    ['merchant update mer_1 --requests-per-second 0', '1 to 100000'],
    ['merchant update mer_1 --contact-phone=', 'Use none to remove it.'],
    ['merchant list --address=', 'Write it as host:port.'],
    [
      'merchant update mer_1 --largest-amounts ETB=50 --largest-amounts USD=1',
      'Separate several values by commas.',
    ],
    [
      'personal-data erase --phone 0911 --phone 0912',
      '--phone is given more than once, with different values',
    ],
    ['merchant update mer_1 --production-options none', 'Use all, or some of the options'],
    ['merchant update mer_1 --currencies none', 'Use all, or codes'],
    ['user invite a@b.example', '--operator'],
    ['user invite a@b.example --merchant mer_1 --operator', 'cannot be used with'],
    ['user invite a@b.example --merchant mer_1 --role boss', 'owner, developer, viewer'],
    ['webhook deliveries', 'the command names no merchant'],
    ['webhook deliveries mer_1 --state pending,lost', 'Use one of: pending, delivered, abandoned.'],
    ['webhook deliveries mer_1 --since yesterday', 'or as an age: 24h.'],
    ['webhook deliveries mer_1 --host shop.example', 'Write it as https://shop.example'],
    ['webhook redeliver mer_1', eitherOr],
    ['webhook redeliver mer_1 whd_1 --since 24h', eitherOr],
    ['webhook redeliver mer_1 whd_1 --state delivered', eitherOr],
    ['webhook test mer_1', "required option '--url <url>' not specified"],
    ['webhook pause mer_1 shop.example:443', 'A complete webhook_url is also accepted.'],
    ['webhook secret rotate mer_1 --promote-after never', 'Write it as 90s, 30m, 24h, 7d or 1h30m.'],
    ['webhook endpoint create mer_1', "required option '--url <url>' not specified"],
    ['webhook endpoint create mer_1 --url https://a.example --types order.failed,', 'or all.'],
    ['webhook endpoint pause mer_1', "missing required argument 'endpoint_id'"],
    [
      'webhook show mer_1 whd_1',
      'Or set GATEHOUSE_WEBHOOKS_ADDRESSES=<host:port> and GATEHOUSE_SERVICE_TOKEN=',
    ],
    ['listen --forward localhost:3000/hook', 'Write it as http://localhost:3000/hook.'],
    ['certify', "required option '--webhook-url <url>' not specified"],
    ['certify --webhook-url localhost:3000', 'Write it as http://localhost:3000/hook.'],
    ['certify --webhook-url http://localhost:3000', 'the signing secret is missing'],
    ['certify --webhook-url http://a.example --secret-file x', 'x does not hold a signing secret'],
    ['certify --webhook-url http://a.example --state-url http://a.example', 'Add --proxy-port 4010'],
    ['certify --webhook-url http://a.example --proxy-port 70000', 'Use a port from 1 to 65535'],
    ['rehearse --since yesterday', 'Write it as 2026-01-31 (UTC)'],
    ['prove --only core:burn', 'each a target (rest-facade, core,'],
    ['prove --rounds 0', 'Use a whole number from 1 to 1000.'],
    ['prove --rate fast', 'Use a whole number from 1 to 1000.'],
    ['prove --seed -1', 'Use a whole number from 0 to 2147483647.'],
    ['prove --database-url mysql://a/b', 'Write it as postgres://user:password@host'],
    ['prove --nats-url http://a', 'Write it as nats://user:password@host:4222.'],
    ['prove verify', "missing required argument 'report'"],
  ])('%s', async (line, message) => {
    const { exitCode, stdout, stderr } = await run(...line.split(' '));

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain(message);
  });

  test.each([
    [['refund', 'create', 'mer_1', 'INV-1', '--reason', 'x', '--amount', ''], '--amount'],
    [['user', 'invite', 'a@shop.example', '--role', 'owner', '--merchant', ''], '--merchant'],
    [['personal-data', 'erase', '--phone', '+251911223344', '--merchant='], '--merchant'],
    [['personal-data', 'requests', '--phone', ''], '--phone'],
    [['order', 'list', 'mer_1', '--prefix', ''], '--prefix'],
    [['audit', 'list', '--kind', ''], '--kind'],
    [
      ['merchant', 'wallet', 'add-account', 'mer_1', 'walleta', '--values', '-', '--account', ''],
      '--account',
    ],
    [['reconcile', 'days', '--day', ''], '--day'],
    [['reconcile', 'run', '--wallet', 'walleta', '--payee', ''], '--payee'],
    [['webhook', 'hosts', ''], '<merchant_id>'],
  ])('an empty value is not an option that is left out: %j', async (args, option) => {
    const { exitCode, stderr } = await run(...args);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining(`the value of ${option} is empty`),
    });
  });

  test('certify reads no demo.json that it does not need', async () => {
    const line = 'certify --webhook-url http://a.example --secret-file x';
    const { stderr } = await runWith({ GATEHOUSE_DATA_DIR: '/dev/null' }, ...line.split(' '));

    expect(stderr).toContain('x does not hold a signing secret');
  });

  test('with --json the error is JSON, at any position of the option', async () => {
    const { stdout, stderr } = await run('--json', 'merchnt');

    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toEqual({
      error: {
        exit_code: 2,
        reason: null,
        message: "unknown command 'merchnt'\n(Did you mean merchant?)",
        issues: [],
        advice: 'To see how a command is used, add --help to it.',
        request_id: null,
      },
    });
  });

  test('with --json an incomplete command is an error in JSON, too', async () => {
    const { exitCode, stderr } = await run('merchant', '--json');

    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { exit_code: 2, message: 'the command is missing' } });
  });
});

describe('a command that calls a webhooks process', () => {
  const token = { GATEHOUSE_SERVICE_TOKEN: 'any' };

  test('needs no address of core', async () => {
    const settings = {
      ...token,
      GATEHOUSE_WEBHOOKS_ADDRESSES: '127.0.0.1:1',
      GATEHOUSE_DATA_DIR: '/nowhere',
    };

    const { stderr } = await runWith(settings, 'webhook', 'endpoints');

    expect(stderr).toContain('error: a webhooks process was called');
  });

  test('does not use the webhooks process of npm start beside another core', async () => {
    const settings = { ...token, GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1', GATEHOUSE_DATA_DIR: '/nowhere' };

    const { exitCode, stderr } = await runWith(settings, 'webhook', 'endpoints');

    expect(exitCode).toBe(2);
    expect(stderr).toContain('no webhooks process is known');
    expect(stderr).toContain('beside that core');
  });

  test('says which token is missing', async () => {
    const settings = { GATEHOUSE_WEBHOOKS_ADDRESSES: '127.0.0.1:1', GATEHOUSE_DATA_DIR: '/nowhere' };

    const { exitCode, stderr } = await runWith(settings, 'webhook', 'endpoints');

    expect(exitCode).toBe(2);
    expect(stderr).toContain('no service token is known for 127.0.0.1:1');
    expect(stderr).toContain('an operator token of that webhooks process');
  });
});

test('an internal error ends with exit code 1, and says how to get more details', async () => {
  const settings = { GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1', GATEHOUSE_SERVICE_TOKEN: 'any' };

  const { exitCode, stderr } = await runWith(settings, 'merchant', 'list');

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^error: a core was called\nThis is a defect in Gatehouse\. Add --verbose/);
  expect(stderr).not.toMatch(/^ +at /m);
});
