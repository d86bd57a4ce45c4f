import { afterEach, describe, expect, test } from '@jest/globals';
import { answer, silence } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCommandLine, widthOf } from './cli-harness.ts';
import { nobody, openWebhookCommandDesk } from './cli-webhook-desk.ts';
import { shared } from '../support/shared-stack.ts';

const desk = shared(openWebhookCommandDesk, ({ stop }) => stop());

afterEach(() => desk.closeReceivers());

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

  test('an unknown merchant has no hosts', async () => {
    const { exitCode, stdout } = await desk.cli.run('webhook', 'hosts', nobody('mer'));

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^There are no hosts in either environment of merchant mer_\w+$/m);
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
])('webhook %j names something unknown: exit code 3, with advice', async (words, advice) => {
  const named = words.map((word) => (word === 'MERCHANT' ? desk.merchant.id : word));

  const { exitCode, stderr } = await desk.cli.run('webhook', ...named);

  expect(exitCode).toBe(3);
  for (const text of advice) expect(stderr).toContain(text);
});
