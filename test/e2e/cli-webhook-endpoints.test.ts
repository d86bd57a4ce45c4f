import { afterEach, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { waitUntil } from '../support/wait-until.ts';
import { widthOf } from './cli-harness.ts';
import { nobody, openWebhookCommandDesk } from './cli-webhook-desk.ts';
import { shared } from '../support/shared-stack.ts';

const desk = shared(
  () => openWebhookCommandDesk(),
  ({ stop }) => stop(),
);
afterEach(() => desk.closeReceivers());

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
  const header = (name: string) => String(webhook?.headers[name]);
  expect(
    new Webhook(secret).verify(webhook?.body ?? '', {
      'webhook-id': header('webhook-id'),
      'webhook-timestamp': header('webhook-timestamp'),
      'webhook-signature': header('webhook-signature'),
    }),
  ).toMatchObject({ type: 'webhook.test' });
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
});

test('errors say what to do', async () => {
  const { id } = await desk.stack.createMerchant();
  const url = 'https://shop.example/hook';
  await endpoint('create', id, '--url', url);
  const results = [
    [await endpoint('show', id, nobody('whe')), 3, 'gatehouse webhook endpoint list <merchant_id>'],
    [await endpoint('create', id, '--url', url), 4, 'gatehouse webhook endpoint update'],
    [await endpoint('create', id, '--url', 'http://shop.example', '-e', 'live'), 2, 'https:// in production'],
    [
      await endpoint('create', id, '--url', 'https://a.example', '--types', 'order.paid'),
      2,
      'order.completed',
    ],
  ] as const;
  for (const [{ exitCode, stderr }, code, advice] of results) {
    expect(stderr).toContain(advice);
    expect(exitCode).toBe(code);
  }
});
