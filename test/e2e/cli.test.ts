import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { newRandomId } from '../../src/contract/public-id.ts';
import { storedId } from '../support/ids.ts';
import { directPayment, registration } from '../support/order-requests.ts';
import { sharedClient, sharedConnection, sharedStack } from '../support/shared-stack.ts';
import { sql } from '../support/sql.ts';
import { deadAddress, execute, openCommandLine, sharedCommandLine, widthOf } from './cli-harness.ts';
import type { Outcome } from './cli-harness.ts';

const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/;
const merchantId = /mer_[0-9a-z]{26}/;
const keyId = /key_[0-9a-z]{26}/;

const stack = sharedStack({ facades: 0 });
const cli = sharedCommandLine(stack);
const orders = sharedClient(stack, OrderService, 'operator');
const merchants = sharedClient(stack, MerchantService, 'operator');
const database = sharedConnection(() => stack.databaseUrl);

const hash = (): string => randomBytes(32).toString('base64');

const newMerchant = async (name = 'Shop'): Promise<string> => {
  const { merchant } = await merchants.createMerchant({ name });
  return merchant!.merchantId;
};

const newKey = async (merchant: string, environment = Environment.SANDBOX): Promise<string> => {
  const keys = stack.client(ApiKeyService, 'operator');
  const { apiKey } = await keys.issueApiKey({ merchantId: merchant, environment });
  return apiKey!.apiKeyId;
};

/** Registers an order of 150.00 ETB. */
const register = (merchantId: string, orderNumber: string, environment = Environment.SANDBOX) =>
  orders.registerOrder(registration({ merchantId, environment, orderNumber, amount: '150.00' }));

describe('merchant', () => {
  test('create shows the merchant and how to give it a key', async () => {
    const { exitCode, stdout } = await cli.run('merchant', 'create', '--name', 'ቡና & Co');

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Merchant +mer_/m);
    expect(stdout).toMatch(/^Name +ቡና & Co$/m);
    expect(stdout).toMatch(/^Status +active$/m);
    expect(stdout).toMatch(/^Production +not activated$/m);
    expect(stdout).toMatch(/^Time to pay +30m$/m);
    expect(stdout).toMatch(/key issue mer_[0-9a-z]{26} --environment sandbox$/m);
  });

  test('create --json prints the merchant on one line', async () => {
    const { stdout } = await cli.run(
      ...['merchant', 'create', '--name', 'Shop', '--production', '--session-lifetime', '1h30m', '--json'],
    );

    expect(stdout.trimEnd()).not.toContain('\n');
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ merchant_id: expect.stringMatching(merchantId), name: 'Shop', status: 'active' },
      ...{ production_activated: true, session_lifetime: '5400s' },
    });
  });

  test('list shows the newest merchant first, within 100 columns however long the names are', async () => {
    const older = await newMerchant('A name that goes on and on, '.repeat(4));
    const newer = await newMerchant('Newer');

    const { stdout } = await cli.run('merchant', 'list');

    expect(stdout).toMatch(/^MERCHANT +NAME +STATUS +PRODUCTION +CREATED$/m);
    expect(stdout.indexOf(newer)).toBeGreaterThan(0);
    expect(stdout.indexOf(older)).toBeGreaterThan(stdout.indexOf(newer));
    expect(stdout).toMatch(time);
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
  });

  test('list --text shows the merchants with a text in the name', async () => {
    const wanted = await newMerchant('Sheger Books');

    const found = await cli.json('merchant', 'list', '--text', 'sheger b');
    const none = await cli.run('merchant', 'list', '--text', 'nothing like it');

    expect(found).toMatchObject({ merchants: [{ merchant_id: wanted }] });
    expect(none.stdout).toBe('No merchant has this text in its name.\n');
  });

  test('list says that there are more than the limit, and continues after its page token', async () => {
    const ids = [await newMerchant(), await newMerchant(), await newMerchant()].reverse();

    const text = await cli.run('merchant', 'list', '--limit', '2');
    const page = await cli.json('merchant', 'list', '--limit', '2');
    const next = await cli.json(
      ...['merchant', 'list', '--limit', '1', '--page-token', String(page['next_page_token'])],
    );

    expect(text.stdout).toContain('There are more entries. Raise --limit');
    expect(text.stdout).toContain(`--page-token ${String(page['next_page_token'])}`);
    expect(page).toMatchObject({ merchants: [{ merchant_id: ids[0] }, { merchant_id: ids[1] }] });
    expect(next).toMatchObject({ merchants: [{ merchant_id: ids[2] }] });
  });

  test.each([
    ['suspend', 'suspended', 'not activated'],
    ['resume', 'active', 'not activated'],
    ['activate-production', 'active', 'activated'],
  ])('%s prints the new state of the merchant, and so does show', async (verb, status, production) => {
    const id = await newMerchant();

    const changed = await cli.run('merchant', verb, id);
    const json = await cli.json('merchant', verb, id);
    const shown = await cli.run('merchant', 'show', id);

    expect(changed).toMatchObject({ exitCode: 0 });
    expect(json).toMatchObject({ merchant_id: id, status, production_activated: production === 'activated' });
    expect(shown.stdout).toMatch(new RegExp(`^Status +${status}$`, 'm'));
    expect(shown.stdout).toMatch(new RegExp(`^Production +${production}$`, 'm'));
  });
});

const update = async (...options: readonly string[]) => {
  const { id } = await stack.createMerchant();
  return { id, ...(await cli.run('merchant', 'update', id, ...options)) };
};

describe('merchant update', () => {
  test('changes and shows all terms of a merchant, and core enforces them', async () => {
    const { id, exitCode, stdout, stderr } = await update(
      ...['--name', 'ቡና & Co', '--session-lifetime', '45m', '--sandbox-options', 'walleta_ussd,walletb_ussd'],
      ...['--production-options', 'walleta_ussd', '--currencies', 'usd,etb'],
      ...['--largest-amounts', 'ETB=50000,USD=900.50', '--requests-per-second', '20'],
      ...['--contact-phone', '8118', '--contact-email', 'help@shop.example'],
    );

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Name +ቡና & Co$/m);
    expect(stdout).toMatch(/^Time to pay +45m$/m);
    expect(stdout).toMatch(/^Sandbox options +walleta_ussd, walletb_ussd$/m);
    expect(stdout).toMatch(/^Production options +walleta_ussd$/m);
    expect(stdout).toMatch(/^Currencies +.*USD/m);
    expect(stdout).toMatch(/^Largest amounts +.*900\.50 USD/m);
    expect(stdout).toMatch(/^Contact +8118, help@shop\.example$/m);
    expect(stdout).toMatch(/^Requests +20 a second for each key$/m);
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
    const { merchant } = await merchants.getMerchant({ merchantId: id });
    expect(merchant?.terms?.requestsPerSecond).toBe(20);
    await expect(
      orders.registerOrder(registration({ merchantId: id, amount: '50000.01' })),
    ).rejects.toThrow();
  });

  test('keeps values that are not given, and removes limits by all, none and standard', async () => {
    const { id } = await update(
      ...['--currencies', 'USD', '--requests-per-second', '5', '--name', 'Before'],
      ...['--contact-phone', '8118', '--contact-email', 'help@shop.example'],
    );

    await cli.json('merchant', 'update', id, '--name', 'After', '--contact-email', 'none');
    const kept = await cli.json('merchant', 'show', id);
    await cli.json('merchant', 'update', id, '--currencies', 'all', '--requests-per-second', 'standard');
    const freed = await cli.json('merchant', 'show', id);

    expect(kept).toMatchObject({
      name: 'After',
      terms: { currencies: ['USD'], requests_per_second: 5 },
      contact: { phone: '8118', email: '' },
    });
    expect(freed).toMatchObject({ name: 'After', terms: { currencies: [], requests_per_second: 0 } });
  });

  test('changes the name of a merchant whose terms name a wallet that was removed', async () => {
    const { id } = await stack.createMerchant();
    await database.query(sql`update core.merchants set production_payment_options = '{removed_ussd}'
      where id = ${storedId('mer', id)}`);

    const renamed = await cli.run('merchant', 'update', id, '--name', 'Renamed');

    expect(renamed).toMatchObject({ exitCode: 0, stderr: '' });
    const { rows } = await database.query(sql`
      select details from core.audit_entries where action = 'merchant.update' and target_id = ${id}`);
    expect(rows).toEqual([{ details: { name: 'Renamed' } }]);
  });

  test.each<[readonly string[], string]>([
    [[], 'nothing would change'],
    [['--sandbox-options', 'cash'], 'gatehouse wallet list'],
  ])('refuses %j, and says what to do', async (options, word) => {
    const { exitCode, stdout, stderr } = await update(...options);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(word);
  });
});

describe('key', () => {
  test('issue shows the key once, by default of the sandbox', async () => {
    const id = await newMerchant();

    const { stdout } = await cli.run('key', 'issue', id, '--label', 'web shop');
    const [, secret = ''] = /^(svc_test_\S+)$/m.exec(stdout) ?? [];
    const listed = await cli.run('key', 'list', id, '--json');

    expect(stdout).toMatch(/^Environment +SANDBOX$/m);
    expect(stdout).toMatch(/^Label +web shop$/m);
    expect(stdout).toContain('cannot show it again');
    expect(secret).toHaveLength(59);
    expect(listed.stdout).not.toContain(secret);
  });

  test.each([
    ['sandbox', 'sandbox', 'svc_test_'],
    ['test', 'sandbox', 'svc_test_'],
    ['production', 'production', 'svc_live_'],
    ['LIVE', 'production', 'svc_live_'],
  ])('issue --environment %s makes a key for %s', async (name, environment, prefix) => {
    const key = await cli.json('key', 'issue', await newMerchant(), '--environment', name);

    expect(key).toMatchObject({ environment, secret: expect.stringMatching(`^${prefix}`) });
  });

  test('rotate shows the new key and until when the old one is valid, as text and as JSON', async () => {
    const id = await newMerchant();
    const old = await newKey(id, Environment.PRODUCTION);

    const { stdout } = await cli.run('key', 'rotate', id, old, '--overlap', '1h');
    const json = await cli.json('key', 'rotate', id, await newKey(id));

    expect(stdout).toMatch(/^Environment +PRODUCTION$/m);
    expect(stdout).toMatch(/^svc_live_\S+$/m);
    expect(stdout).toMatch(new RegExp(`^The key it replaces, ${old}: valid until ${time.source}$`, 'm'));
    expect(json).toMatchObject({
      api_key_id: expect.stringMatching(keyId),
      secret: expect.stringMatching(/^svc_test_/),
      replaced: { api_key_id: expect.stringMatching(keyId), expire_time: expect.any(String) },
    });
  });

  test('revoke disables a key, and list shows the time', async () => {
    const id = await newMerchant();
    const key = await newKey(id);

    const revoked = await cli.run('key', 'revoke', id, key);
    const listed = await cli.run('key', 'list', id);

    expect(revoked.stdout).toMatch(new RegExp(`^State +revoked ${time.source}$`, 'm'));
    expect(listed.stdout).toMatch(/^API KEY, LABEL +ENVIRONMENT +BEGINS WITH, SCOPES +STATE +LAST USED$/m);
    expect(listed.stdout).toMatch(new RegExp(`^${key} +sandbox +svc_test_\\S+ +revoked +never$`, 'm'));
    expect(widthOf(listed.stdout)).toBeLessThanOrEqual(100);
  });

  test('list shows the keys of both environments, or of the given one', async () => {
    const { id } = await stack.createMerchant();

    const both = await cli.json('key', 'list', id);
    const one = await cli.json('key', 'list', id, '--environment', 'live');
    const none = await cli.run('key', 'list', await newMerchant(), '--environment', 'live');

    expect(both['api_keys']).toHaveLength(2);
    expect(one).toMatchObject({ api_keys: [{ environment: 'production' }] });
    expect(none.stdout).toContain('no keys in PRODUCTION');
  });
});

describe('order', () => {
  test('show prints an order, its payment attempts and its history', async () => {
    const id = await newMerchant();
    await register(id, 'inv-1');
    await orders.startDirectPayment(
      directPayment({ merchantId: id, orderNumber: 'inv-1', amount: '150.00' }),
    );

    const { stdout } = await cli.run('order', 'show', id, 'inv-1');

    expect(stdout).toMatch(/^Order inv-1 in SANDBOX$/m);
    expect(stdout).toMatch(/^Amount +150\.00 ETB$/m);
    expect(stdout).toMatch(/^Status +pending$/m);
    expect(stdout).toMatch(/^pat_\S+ +requested +walleta_ussd +\+251911223344 /m);
    expect(stdout).toMatch(/ 1 +created +registered: 150\.00 ETB, to be paid by /);
    expect(stdout).toMatch(/ 2 +payment_started +payment by walleta_ussd from \+251911223344 started$/m);
    expect(stdout.indexOf(' created ')).toBeLessThan(stdout.indexOf(' payment_started '));
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
  });

  test('show --json holds the order, its attempts and its events, amounts as text', async () => {
    const id = await newMerchant();
    const { order } = await register(id, 'inv-1');

    const byId = await cli.json('order', 'show', id, order!.orderId);

    expect(byId).toMatchObject({
      order_id: order!.orderId,
      order_number: 'inv-1',
      environment: 'sandbox',
      status: 'pending',
      amount: '150.00',
      deducted: '0.00',
      payment_option: '',
      payment_type: 'api',
      last_event_sequence: '1',
      payment_attempts: [],
      events: [{ type: 'created', sequence: '1', previous_status: null, payment_attempt: null }],
    });
  });

  test('list shows the orders of one environment and names it', async () => {
    const { id } = await stack.createMerchant();
    await register(id, 'in-the-sandbox');
    await register(id, 'in-production', Environment.PRODUCTION);

    const sandbox = await cli.run('order', 'list', id);
    const production = await cli.run('order', 'list', id, '--environment', 'live');

    expect(sandbox.stdout).toMatch(/^Orders in SANDBOX, merchant mer_/);
    expect(sandbox.stdout).toMatch(/^in-the-sandbox +pending +150\.00 ETB +api /m);
    expect(sandbox.stdout).not.toContain('in-production');
    expect(production.stdout).toMatch(/^Orders in PRODUCTION, merchant mer_/);
    expect(production.stdout).toContain('in-production');
    expect(widthOf(sandbox.stdout)).toBeLessThanOrEqual(100);
  });

  test('list shows only orders that match the filters', async () => {
    const id = await newMerchant();
    for (const number of ['a-1', 'a-2', 'b-1']) await register(id, number);
    const numbers = async (...filters: readonly string[]) => {
      const found = await cli.json('order', 'list', id, ...filters);
      return (found['orders'] as { order_number: string }[]).map(({ order_number }) => order_number).sort();
    };

    expect(await numbers('--prefix', 'a-')).toEqual(['a-1', 'a-2']);
    expect(await numbers('--status', 'pending')).toEqual(['a-1', 'a-2', 'b-1']);
    expect(await numbers('--status', 'COMPLETED,failed', '--status', 'expired')).toEqual([]);
    expect(await numbers('--since', '2020-01-01', '--until', '2020-01-02T03:00:00+03:00')).toEqual([]);
    expect(await numbers('--since', '2020-01-01')).toHaveLength(3);
    expect(await numbers('--from', '2020-01-01', '--to', '2020-01-02')).toEqual([]);
  });

  test('list follows page tokens up to the limit, beyond the page size of core', async () => {
    const id = await newMerchant();
    const requests = Array.from({ length: 501 }, (_, index) =>
      registration({ merchantId: id, orderNumber: `n-${index}` }),
    );
    await orders.batchRegisterOrders({ requests: requests.slice(0, 500) });
    await orders.batchRegisterOrders({ requests: requests.slice(500) });

    const all = await cli.json('order', 'list', id, '--limit', '1000');

    expect(all['orders']).toHaveLength(501);
    expect(all['next_page_token']).toBe('');
  });
});

describe('audit list', () => {
  test('shows who did what to which merchant, and the reason given', async () => {
    const id = await newMerchant();
    await cli.run('merchant', 'suspend', id, '--reason', 'asked for by the bank');

    const { stdout } = await cli.run('audit', 'list', '--merchant', id);
    const json = await cli.json('audit', 'list', '--merchant', id, '--limit', '1');

    expect(stdout).toMatch(/^TIME +ACTOR +CHANGE +DETAILS$/m);
    expect(stdout).toMatch(/ merchant\.suspend +reason: asked for by the bank$/m);
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
    expect(json).toMatchObject({
      entries: [
        {
          action: 'merchant.suspend',
          actor: `operator:${userInfo().username}`,
          merchant_id: id,
          request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          details: { reason: 'asked for by the bank' },
        },
      ],
    });
  });

  test('shows another request id for each change', async () => {
    const id = await newMerchant();
    await cli.run('merchant', 'suspend', id);
    await cli.run('merchant', 'resume', id);

    const { entries } = await cli.json('audit', 'list', '--merchant', id);
    const requests = (entries as { request_id: string }[]).map(({ request_id }) => request_id);

    expect(new Set(requests).size).toBe(3);
  });
});

test('audit verify compares more roots than a message can contain, and names merchants for the newest days', async () => {
  const chains = Array.from({ length: 900 }, () => ({
    merchant_id: newRandomId('mer', new Date()),
    block_number: '1',
    block_hash: hash(),
  }));
  const days = Array.from({ length: 70 }, (_, day) =>
    new Date(Date.UTC(2020, 0, day)).toISOString().slice(0, 10),
  );
  const roots = days.map((day) => ({ day, previous_root: hash(), root: hash(), chains }));
  const file = join(cli.dataFolder, 'kept-roots.jsonl');
  await writeFile(file, roots.map((root) => JSON.stringify(root)).join('\n'));

  const { exitCode, stdout } = await cli.run('audit', 'verify', '--root', file);

  expect(exitCode).toBe(1);
  expect(stdout).toContain(`Your root of ${days[0]} differs from the chains.`);
  expect(stdout).toContain(` of ${chains[0]!.merchant_id}. Someone`);
  expect(stdout).toMatch(/and 70 roots\.$/m);
});

test.each([
  ['order list', ''],
  ['payment list', ''],
  ['payment strays', '--merchant'],
  ['audit verify', '--merchant'],
  ['rehearse', '--merchant'],
  ['reconcile days', '--merchant'],
  ['reconcile days', '--wallet'],
  ['reconcile list', '--wallet'],
  ['payment payer-started', '--wallet'],
  ['refund list', '--merchant'],
  ['settlement list', '--merchant'],
  ['settlement waiting', '--merchant'],
  ['audit list', '--merchant'],
  ['user list', '--merchant'],
])('%s with an unknown %s finds nothing, and fails', async (command, option) => {
  const unknown = option === '--wallet' ? 'unknown' : newRandomId('mer', new Date());
  expect(await cli.run(...`${command} ${option}`.trim().split(' '), unknown)).toMatchObject({
    exitCode: 3,
    stdout: '',
    stderr: expect.stringContaining(unknown),
  });
});

test('npm runs the command line, and --address replaces the address in the settings', async () => {
  const args = ['merchant', 'create', '--name', 'By npm', '--address', stack.addresses[0]!];
  const { exitCode, stdout, stderr } = await execute('npm', ['run', '-s', 'gatehouse', '--', ...args], {
    ...process.env,
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.operator,
    GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1',
  });

  expect({ exitCode, stderr: stderr.replace(/^npm warn .*\n/gm, '') }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^Create its first key: gatehouse key issue mer_/m);
});

const settingsWith = (token: string, addresses = stack.addresses.join(',')) => ({
  GATEHOUSE_CORE_ADDRESSES: addresses,
  GATEHOUSE_SERVICE_TOKEN: token,
});

/** Lists merchants with these settings, and with this demo.json if there is one. */
async function listWith(
  settings: Readonly<Record<string, string>>,
  {
    demo = '',
    args = ['merchant', 'list'],
  }: { readonly demo?: string; readonly args?: readonly string[] } = {},
): Promise<Outcome> {
  const own = await openCommandLine(settings);
  try {
    if (demo !== '') await writeFile(join(own.dataFolder, 'demo.json'), demo);
    return await own.run(...args);
  } finally {
    await own.stop();
  }
}

test('the address and the token of core are read from demo.json by default', async () => {
  const demo = {
    rest: { production: 'http://127.0.0.1:1', sandbox: 'http://127.0.0.1:2' },
    grpc: stack.addresses[0],
    tokens: { operator: stack.tokens.operator, reader: stack.tokens.reader },
  };

  expect(await listWith({}, { demo: JSON.stringify(demo) })).toMatchObject({ exitCode: 0, stderr: '' });
});

const otherDemo = JSON.stringify({
  grpc: 'elsewhere:1',
  rest: { production: '', sandbox: '' },
  tokens: { operator: 'a'.repeat(32) },
});

describe('exit code 2, for invalid input', () => {
  test('every issue that core finds has its own line', async () => {
    const { exitCode, stderr } = await cli.run(
      ...['merchant', 'create', '--name', '', '--session-lifetime', '1m'],
    );

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^ {2}name: is required$/m);
    expect(stderr).toMatch(/^ {2}session_lifetime: must be /m);
  });

  test('with --json, the issues are JSON on stderr', async () => {
    const { exitCode, stdout, stderr } = await cli.run('merchant', 'create', '--name', '', '--json');

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({
      error: {
        exit_code: 2,
        reason: 'INVALID_FIELDS',
        message: expect.any(String),
        issues: [{ field: 'name', issue: 'is required' }],
        advice: '',
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    });
  });

  test.each<[string, () => Readonly<Record<string, string>>, string, readonly string[]]>([
    [
      'no address of a core, which it says to start or to set',
      () => ({}),
      '',
      ['no core is known', 'npm start', 'GATEHOUSE_SERVICE_TOKEN'],
    ],
    [
      'an address without a token, and does not try the token of another core',
      () => ({ GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(',') }),
      otherDemo,
      ['no service token is known'],
    ],
    ['an invalid demo.json, which it names', () => ({}), '{"grpc":', ['/demo.json']],
    [
      'an unusable setting, which it names',
      () => settingsWith('any', 'nowhere'),
      '',
      ['GATEHOUSE_CORE_ADDRESSES must be host:port'],
    ],
  ])('a command has %s', async (_what, settings, demo, words) => {
    const { exitCode, stderr } = await listWith(settings(), { demo });

    expect(exitCode).toBe(2);
    for (const word of words) expect(stderr).toContain(word);
  });
});

describe('exit code 3, for unknown objects', () => {
  const unknown = (kind: 'mer' | 'key') => newRandomId(kind, new Date());

  test.each<[what: string, args: (merchant: string) => string[], advice: RegExp]>([
    ['merchant', () => ['merchant', 'show', unknown('mer')], /merchant list$/m],
    ['key', (merchant) => ['key', 'revoke', merchant, unknown('key')], /key list <merchant_id>$/m],
    ['order', (merchant) => ['order', 'show', merchant, 'inv-404'], /--environment/],
  ])('an unknown %s is reported, and the advice says where to look', async (_what, args, advice) => {
    expect(await cli.run(...args(await newMerchant()))).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(advice),
    });
  });
});

describe('exit code 4, for refused commands', () => {
  test.each<[string, () => string, readonly string[]]>([
    [
      'that it does not know',
      () => 'f'.repeat(32),
      ['does not know this service token', 'GATEHOUSE_SERVICE_TOKEN'],
    ],
    ['whose role does not allow the command', () => stack.tokens.reader, ['the token has the role reader']],
  ])('core refuses a token %s', async (_what, token, words) => {
    const args = ['merchant', 'create', '--name', 'Shop'];
    const { exitCode, stderr } = await listWith(settingsWith(token()), { args });

    expect(exitCode).toBe(4);
    for (const word of words) expect(stderr).toContain(word);
  });

  test('core refuses to rotate a revoked key', async () => {
    const id = await newMerchant();
    const key = await newKey(id);
    await stack.client(ApiKeyService, 'operator').revokeApiKey({ merchantId: id, apiKeyId: key });

    const { exitCode, stderr } = await cli.run('key', 'rotate', id, key, '--json');

    expect(exitCode).toBe(4);
    expect(JSON.parse(stderr)).toMatchObject({ error: { exit_code: 4, reason: 'API_KEY_NOT_USABLE' } });
  });
});

describe('exit code 5, for a core that cannot be reached', () => {
  test('an address without a listener is reported, with the stack trace only with --verbose', async () => {
    const address = await deadAddress();

    const { exitCode, stderr } = await listWith(settingsWith('any', address));
    const long = await listWith(settingsWith('any', address), { args: ['merchant', 'list', '--verbose'] });

    expect(exitCode).toBe(5);
    expect(stderr).toContain(`no core answers at ${address} (nothing listens there)`);
    expect(stderr).toMatch(/doctor$/m);
    expect([stderr, long.stderr].map((text) => /^ +at /m.test(text))).toEqual([false, true]);
  });

  test('a name without an address is reported, with the way to a pod that is not ready', async () => {
    const address = 'dns:///none.invalid:50051';

    const { exitCode, stderr } = await listWith(settingsWith('any', address));

    expect(exitCode).toBe(5);
    expect(stderr).toContain(`no core answers at ${address} (the name is unknown)`);
    expect(stderr).toContain('kubectl exec deploy/core -- gatehouse doctor --address localhost:50051');
    expect(stderr).not.toContain('npm start');
  });

  test('the command stops by itself when the server never answers', async () => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => void sockets.add(socket));
    await new Promise<void>((listening) => mute.listen(0, '127.0.0.1', listening));
    const { port } = mute.address() as AddressInfo;

    const { exitCode, stderr } = await listWith(settingsWith('any', `127.0.0.1:${port}`));

    sockets.forEach((socket) => socket.destroy());
    await new Promise((closed) => mute.close(closed));
    expect(exitCode).toBe(5);
    expect(stderr).toContain('no answer came in time');
  });
});
