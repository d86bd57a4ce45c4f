import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { answer, closedPort, silence, startReceiver } from '../integration/webhooks/receivers.ts';
import type { Behaviour, Receiver } from '../integration/webhooks/receivers.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { deadAddress, openCommandLine, widthOf } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';

let stack: Stack;
let merchant: TestMerchant;
let cli: CommandLine;
const receivers: Receiver[] = [];

beforeAll(async () => {
  stack = await startStack({ wallets: 1, walletTimeScale: 0.1, webhooks: 1 });
  merchant = await stack.createMerchant();
  cli = await openCommandLine(settingsWith(stack.tokens.operator));
}, 60_000);

afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});

afterAll(async () => {
  await cli.stop();
  await stack.stop();
});

const settingsWith = (token: string, address = String(stack.webhooks[0]?.ready['grpc'])) => ({
  GATEHOUSE_WEBHOOKS_ADDRESSES: address,
  GATEHOUSE_SERVICE_TOKEN: token,
});

/** An id that is well formed, and nobody's. */
const nobody = (prefix: string): string => `${prefix}_01m7xjbb99evv8hx2dqm5r8qgn`;

/** A merchant's own server. Its origin is an endpoint of its own, so that no test sees another's deliveries. */
async function openReceiver(behaviour?: Behaviour): Promise<Receiver> {
  const receiver = await startReceiver(behaviour);
  receivers.push(receiver);
  return receiver;
}

const post = async (path: string, body: object): Promise<number> => {
  const { status } = await fetch(`${stack.facades[0]?.sandbox}${path}`, {
    method: 'POST',
    headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return status;
};

/** Registers an order whose end is told to the URL, and pays it. */
async function pay(order_number: string, webhook_url: string): Promise<void> {
  const money = { order_number, amount: '100.50', currency: 'ETB' };
  const about = { reason: 'Shoes', customer_phone: '0911223344', return_url: 'https://shop.example/thanks' };
  expect(await post('/api/v1/register', { ...money, ...about, webhook_url })).toBe(201);
  const direct = '/api/v1/direct?payment_option=walleta_ussd';
  expect(await post(direct, { ...money, phone: '+251900000000' })).toBe(201);
}

interface ListedDelivery {
  readonly delivery_id: string;
  readonly state: string;
  readonly attempt_count: number;
}

async function deliveriesTo({ origin }: Pick<Receiver, 'origin'>): Promise<readonly ListedDelivery[]> {
  const { deliveries } = await cli.json('webhook', 'deliveries', merchant.id, '--endpoint', origin);
  return deliveries as ListedDelivery[];
}

/** The delivery that a test event or an order made, once it has been tried. */
const tried = (receiver: Pick<Receiver, 'origin'>): Promise<ListedDelivery> =>
  waitUntil('the delivery was tried', async () => {
    const [latest] = await deliveriesTo(receiver);
    return latest !== undefined && latest.attempt_count > 0 && latest;
  });

/** Sends a test event, whatever becomes of it. */
const sendTest = (receiver: Receiver) =>
  cli.run('webhook', 'test', merchant.id, '--url', `${receiver.origin}/hook`);

describe('webhook deliveries, show and explain', () => {
  test('what was sent is listed, filtered, and shown with its body and attempts', async () => {
    const receiver = await openReceiver();
    await pay('listed-1', `${receiver.origin}/hook`);
    const { delivery_id: id } = await tried(receiver);

    const listed = await cli.run('webhook', 'deliveries', merchant.id, '--order-number', 'listed-1');
    const given = await cli.run('webhook', 'deliveries', merchant.id, '--state', 'given_up', '--since', '1h');
    const earlier = await cli.run('webhook', 'deliveries', merchant.id, '--until', '1h', '-e', 'live');
    const shown = await cli.run('webhook', 'show', merchant.id, id);
    const json = await cli.json('webhook', 'show', merchant.id, id);

    expect(listed.stdout).toMatch(
      new RegExp(`^${id} +delivered +order\\.completed +204\\nlisted-1 +1 attempt`, 'm'),
    );
    expect(given.stdout).toBe(`No such deliveries in SANDBOX, merchant ${merchant.id}\n`);
    expect(earlier.stdout).toBe(`No such deliveries in PRODUCTION, merchant ${merchant.id}\n`);
    expect(shown.stdout).toMatch(/^State +delivered$/m);
    expect(shown.stdout).toMatch(/^ {4}"order_number": "listed-1",$/m);
    expect(shown.stdout).toMatch(/^#1 {2}\S+Z {2}answered 204 in \d+ ms by 127\.0\.0\.1$/m);
    expect(json).toMatchObject({
      delivery_id: id,
      state: 'delivered',
      body: receiver.webhooks[0]?.body.toString(),
      attempts: [{ number: 1, result: 'delivered', status_code: 204 }],
    });
    for (const { stdout } of [listed, shown]) expect(widthOf(stdout)).toBeLessThanOrEqual(100);
  });

  test('an order that has ended names the command that tells what its URL was told', async () => {
    const receiver = await openReceiver();
    await pay('shown-1', receiver.origin);
    const { delivery_id: id } = await tried(receiver);
    const withCore = await openCommandLine({
      ...settingsWith(stack.tokens.reader),
      GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(),
    });

    const { stdout } = await withCore.run('order', 'show', merchant.id, 'shown-1');
    const [, advised = ''] = /^node src\/main\/cli\.ts (webhook deliveries .*)$/m.exec(stdout) ?? [];
    const listed = await withCore.run(...advised.split(' '));
    await withCore.stop();

    expect(listed.stdout.match(/whd_\w+/g)).toEqual([id]);
  });

  test('lists go on where a page ended, with a time span said as a time', async () => {
    const receiver = await openReceiver();
    await sendTest(receiver);
    await sendTest(receiver);
    const to = ['--endpoint', receiver.origin];

    const first = await cli.run('webhook', 'deliveries', merchant.id, ...to, '--since', '1h', '--limit', '1');
    const [, token = '', since = ''] = /--page-token (\S+) --since (\S+)$/m.exec(first.stdout) ?? [];
    const second = await cli.json(
      ...['webhook', 'deliveries', merchant.id, ...to, '--since', since, '--page-token', token],
    );

    expect(second['deliveries']).toHaveLength(1);
    expect(first.stdout).not.toContain((second['deliveries'] as ListedDelivery[])[0]!.delivery_id);
  });

  test('a receiver cannot write to the terminal of whoever looks', async () => {
    const receiver = await openReceiver(answer(500, {}, 'boom \u001b[2J\u001b]0;owned\u0007'));
    await sendTest(receiver);
    const { delivery_id: id } = await tried(receiver);

    const { stdout } = await cli.run('webhook', 'show', merchant.id, id);

    expect(stdout).toContain(String.raw`< boom \u001b[2J\u001b]0;owned\u0007`);
    // eslint-disable-next-line no-control-regex -- what must not be there
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  test('why a delivery waits is said in words, with a command that can be pasted', async () => {
    const receiver = await openReceiver(answer(503, { 'retry-after': '3600' }));
    await sendTest(receiver);
    const { delivery_id: id } = await tried(receiver);

    const { exitCode, stdout } = await cli.run('webhook', 'explain', merchant.id, id);
    const json = await cli.json('webhook', 'explain', merchant.id, id);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Delivery ${id} in SANDBOX is pending`);
    expect(stdout).toContain(`\n  node src/main/cli.ts webhook redeliver ${merchant.id} ${id}\n`);
    expect(widthOf(stdout)).toBeLessThanOrEqual(110);
    expect(json).toMatchObject({
      delivery: { delivery_id: id, state: 'pending' },
      endpoint: { endpoint: receiver.origin, state: 'open' },
      sentences: expect.any(Array),
      next_attempt_time: expect.stringMatching(/Z$/),
    });
  });

  test('one that is not there ends with 3 and says where to look', async () => {
    const { exitCode, stderr } = await cli.run('webhook', 'show', merchant.id, nobody('whd'));

    expect(exitCode).toBe(3);
    expect(stderr).toContain('webhook deliveries <merchant_id>');
  });
});

describe('webhook test', () => {
  test('ends with 0 when the receiver took it', async () => {
    const receiver = await openReceiver();

    const { exitCode, stdout } = await sendTest(receiver);

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^It was delivered: answered 204 in \d+ ms by 127\.0\.0\.1$/m);
    expect(JSON.parse(receiver.webhooks[0]!.body.toString())).toMatchObject({ type: 'webhook.test' });
  });

  test('ends with 1 when it did not, and says what was answered', async () => {
    const receiver = await openReceiver(answer(500, {}, 'no such table'));

    const { exitCode, stdout } = await sendTest(receiver);

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^It was not delivered: answered 500 in \d+ ms by 127\.0\.0\.1$/m);
    expect(stdout).toContain('< no such table');
    expect(stdout).toContain(`webhook explain ${merchant.id} whd_`);
  });

  test('tells a reason that is longer than a line to its end', async () => {
    const receiver = await openReceiver(answer(401));

    const { stdout } = await sendTest(receiver);

    expect(stdout.replace(/\s+/g, ' ')).toContain(
      "without a login, and know them by their signature; has it the merchant's current signing secret?",
    );
  });

  test('ends with 1 when nobody is there, and with the attempt in JSON', async () => {
    const url = `http://127.0.0.1:${await closedPort()}/hook`;

    const { exitCode, stdout, stderr } = await cli.run(
      'webhook',
      'test',
      merchant.id,
      '--url',
      url,
      '--json',
    );

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'pending',
      attempts: [{ result: 'connection_failed', status_code: 0 }],
    });
  });

  test('ends with 2 for a URL that orders of that environment could not have', async () => {
    const { exitCode, stderr } = await cli.run(
      ...['webhook', 'test', merchant.id, '--url', 'http://shop.example/hook', '-e', 'live'],
    );

    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      'the webhooks process did not accept the input\n  url: must start with https://',
    );
  });
});

describe('webhook redeliver', () => {
  test('one delivery is sent again, with the same bytes and id', async () => {
    const receiver = await openReceiver();
    await sendTest(receiver);
    const { delivery_id: id } = await tried(receiver);

    const { exitCode, stdout } = await cli.run('webhook', 'redeliver', merchant.id, id);
    await waitUntil('it came again', () => receiver.webhooks.length === 2);

    const [first, second] = receiver.webhooks;
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`webhook show ${merchant.id} ${id}`);
    expect(second?.body.equals(first!.body)).toBe(true);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  });

  test('all since a time are sent again; how far it is is told until they have come to an end', async () => {
    const receiver = await openReceiver();
    const own = await stack.createMerchant();
    for (let count = 0; count < 3; count += 1)
      await cli.run('webhook', 'test', own.id, '--url', `${receiver.origin}/hook`);

    const { exitCode, stdout, stderr } = await cli.run(
      ...['webhook', 'redeliver', own.id, '--since', '1h', '--state', 'delivered'],
    );
    const [id = ''] = /whr_\w+/.exec(stdout) ?? [];
    const looked = await cli.json('webhook', 'redelivery', own.id, id);

    expect(exitCode).toBe(0);
    expect(receiver.webhooks).toHaveLength(6);
    expect(stdout).toMatch(/^Made pending +3$/m);
    expect(stdout).toMatch(/^Delivered +3$/m);
    expect(stdout).toContain('All of them have come to an end.');
    expect(stderr).toContain(`Sending again what is delivered in SANDBOX since `);
    expect(stderr).toContain(`webhook redelivery ${own.id} ${id}`);
    expect(stderr).toMatch(/^ {2}3 made pending again, \d of them delivered, \d on their way$/m);
    expect(looked).toMatchObject({ redelivery_id: id, redelivered_count: '3', delivered_count: '3' });
  });

  test('Ctrl-C ends the looking, not the sending', async () => {
    const receiver = await openReceiver();
    const own = await stack.createMerchant();
    await cli.run('webhook', 'test', own.id, '--url', `${receiver.origin}/hook`);
    receiver.behave(silence);

    const following = cli.start('webhook', 'redeliver', own.id, '--since', '1h', '--state', 'delivered');
    await waitUntil('it is on its way', () => following.stderr().includes('1 on their way'));
    const { exitCode, stdout } = await following.interrupt();

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^On their way +1$/m);
    expect(stdout).toContain(`webhook redelivery ${own.id} whr_`);
    await waitUntil('it was sent', () => receiver.webhooks.length === 2);
  });

  test('when there is nothing to send again, that is said', async () => {
    const own = await stack.createMerchant();

    const { exitCode, stdout } = await cli.run('webhook', 'redeliver', own.id, '--since', '1h', '-e', 'live');

    expect(exitCode).toBe(0);
    expect(stdout).toContain('There was nothing to send again.');
    expect(stdout).toContain('what is given_up in PRODUCTION since');
  });

  test('a redelivery that is not there ends with 3', async () => {
    const { exitCode, stderr } = await cli.run('webhook', 'redelivery', merchant.id, nobody('whr'));

    expect(exitCode).toBe(3);
    expect(stderr).toContain('webhook redeliver <merchant_id> --since <time>');
  });
});

describe('webhook endpoints, pause and resume', () => {
  test('a paused endpoint is in trouble, gets nothing, and all that waited once it is resumed', async () => {
    const receiver = await openReceiver();
    const hook = `${receiver.origin}/hook`;
    await sendTest(receiver);

    const paused = await cli.run('webhook', 'pause', merchant.id, hook, '--reason', 'a new server');
    const { delivery_id: id } = await tried(receiver);
    await cli.run('webhook', 'redeliver', merchant.id, id);
    const trouble = await cli.run('webhook', 'endpoints', merchant.id, '--trouble');
    const explained = await cli.run('webhook', 'explain', merchant.id, id);
    const count = receiver.webhooks.length;
    const resumed = await cli.run('webhook', 'resume', merchant.id, hook);
    await waitUntil('it came', () => receiver.webhooks.length === 2);
    const well = await cli.json('webhook', 'endpoints', merchant.id);

    expect(paused.stdout).toMatch(/^State +paused: a new server$/m);
    expect(trouble.stdout).toMatch(new RegExp(`^${receiver.origin} +sandbox +1 +paused: a new server$`, 'm'));
    expect(trouble.stdout).toContain('webhook resume <merchant_id> <endpoint> --environment <name>');
    expect(explained.stdout).toContain('a new server');
    expect(count).toBe(1);
    expect(resumed.stdout).toMatch(/^State +open$/m);
    expect(well['endpoints']).toContainEqual(
      expect.objectContaining({ endpoint: receiver.origin, state: 'open', environment: 'sandbox' }),
    );
    expect(widthOf(trouble.stdout)).toBeLessThanOrEqual(100);
  });

  test('the command that explain advises resumes the endpoint', async () => {
    const receiver = await openReceiver(answer(410));
    await sendTest(receiver);
    const { delivery_id: id } = await tried(receiver);
    const { stdout } = await cli.run('webhook', 'explain', merchant.id, id);
    const [, advised = ''] = /node src\/main\/cli\.ts (webhook resume .*)$/m.exec(stdout) ?? [];

    const { exitCode, stdout: resumed } = await cli.run(...advised.split(' '));

    expect(stdout).toContain('answered 410');
    expect(exitCode).toBe(0);
    expect(resumed).toContain(receiver.origin);
  });

  test('one that is not there ends with 3, and a word on environments', async () => {
    const { exitCode, stderr } = await cli.run('webhook', 'resume', merchant.id, 'https://shop.example');

    expect(exitCode).toBe(3);
    expect(stderr).toContain('SANDBOX, unless --environment says PRODUCTION');
    expect(stderr).toContain('webhook endpoints <merchant_id>');
  });

  test('a merchant of whom nothing is known has none', async () => {
    const { exitCode, stdout } = await cli.run('webhook', 'endpoints', nobody('mer'));

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^Nothing was ever to be sent anywhere in BOTH ENVIRONMENTS of merchant mer_\w+$/m,
    );
  });
});

describe('webhook secret', () => {
  test('the first is current at once; the next one is shown with what to do, and promoted', async () => {
    const { id } = await stack.createMerchant();

    const none = await cli.run('webhook', 'secret', 'list', id);
    const first = await cli.run('webhook', 'secret', 'rotate', id);
    const second = await cli.run('webhook', 'secret', 'rotate', id, '--promote-after', '2h');
    const listed = await cli.run('webhook', 'secret', 'list', id, '-e', 'sandbox');
    const promoted = await cli.run('webhook', 'secret', 'promote', id);
    const again = await cli.run('webhook', 'secret', 'promote', id);

    const [secret = ''] = /^whsec_\S{44}$/m.exec(second.stdout) ?? [];
    expect(none.stdout).toContain(`webhook secret rotate ${id}`);
    expect(first.stdout).toMatch(/^State +current$/m);
    expect(first.stdout).toContain('Within 5 seconds it alone signs.');
    expect(second.stdout).toContain('This is the secret. Keep it now: it is not shown again.');
    expect(second.stdout).toContain(`webhook secret promote ${id} --environment sandbox`);
    expect(listed.stdout).not.toContain('whsec_');
    expect(listed.stdout).toMatch(/sandbox +\S{4} +\S+Z +current\n/);
    expect(listed.stdout).toMatch(/sandbox +\S{4} +\S+Z +next, current from/);
    expect(listed.stdout).toContain(` ${secret.slice(-4)} `);
    expect(promoted.stdout).toMatch(/^State +current$/m);
    expect(again).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('webhook secret list') });
    for (const { stdout } of [second, listed, promoted]) expect(widthOf(stdout)).toBeLessThanOrEqual(110);
  });

  test('making another next one says which it takes the place of', async () => {
    const { id } = await stack.createMerchant();
    await cli.run('webhook', 'secret', 'rotate', id);
    const next = await cli.run('webhook', 'secret', 'rotate', id);

    const { stdout } = await cli.run('webhook', 'secret', 'rotate', id);

    const [ending = ''] = /(?<=^Ends in +)\S{4}$/m.exec(next.stdout) ?? [];
    expect(next.stdout).not.toContain('takes the place of');
    expect(stdout).toContain(`It takes the place of the next secret that ends in ${ending}`);
  });

  test('--json has the secret; nobody but an operator gets one', async () => {
    const reader = await openCommandLine(settingsWith(stack.tokens.reader));
    const { id } = await stack.createMerchant();

    const refused = await reader.run('webhook', 'secret', 'rotate', id, '-e', 'live');
    const made = await cli.json('webhook', 'secret', 'rotate', id, '-e', 'live');
    const listed = await reader.json('webhook', 'secret', 'list', id);
    await reader.stop();

    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('a role that may, such as operator');
    expect(made).toMatchObject({
      environment: 'production',
      state: 'current',
      secret: expect.stringMatching(/^whsec_/),
    });
    expect(listed['signing_secrets']).toEqual([expect.objectContaining({ shown: true })]);
  });

  test('a merchant there is not ends with 3', async () => {
    const { exitCode, stderr } = await cli.run('webhook', 'secret', 'rotate', nobody('mer'));

    expect(exitCode).toBe(3);
    expect(stderr).toContain('merchant list');
  });
});

test('when no webhooks process answers, it ends with 5 and says which setting names one', async () => {
  const address = await deadAddress();
  const away = await openCommandLine(settingsWith('any', address));

  const { exitCode, stderr } = await away.run('webhook', 'endpoints');
  await away.stop();

  expect(exitCode).toBe(5);
  expect(stderr).toContain(`no webhooks process answers at ${address} (nothing listens there)`);
  expect(stderr).toContain('GATEHOUSE_WEBHOOKS_ADDRESSES');
});
