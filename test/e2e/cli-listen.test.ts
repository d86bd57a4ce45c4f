import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { answer, closedPort, startReceiver } from '../integration/webhooks/receivers.ts';
import type { Behaviour, ReceivedWebhook, Receiver } from '../integration/webhooks/receivers.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCommandLine } from './cli-harness.ts';
import type { CommandLine, RunningCommand } from './cli-harness.ts';

let stack: Stack;
let webhooks: GatehouseProcess;
let merchant: TestMerchant;
let secret: string;
let cli: CommandLine;
const receivers: Receiver[] = [];

beforeAll(async () => {
  // A fixed port, so that a process that is started again has the same address.
  const settings = { GATEHOUSE_WEBHOOKS_GRPC_PORT: String(await closedPort()) };
  stack = await startStack({
    ownProcesses: ['webhooks'],
    wallets: 1,
    walletTimeScale: 0.1,
    webhooks: 1,
    settings,
  });
  webhooks = stack.webhooks[0]!;
  merchant = await stack.createMerchant();
  cli = await openCommandLine({});
  await writeDemoFile(cli.dataFolder);
  secret = String((await cli.json('webhook', 'secret', 'rotate', merchant.id))['secret']);
});

afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});

afterAll(async () => {
  await cli.stop();
  await stack.stop();
});

/** The file that `npm start` writes, which is all that the command line gets. */
const writeDemoFile = (folder: string): Promise<void> =>
  writeFile(
    join(folder, 'demo.json'),
    JSON.stringify({
      grpc: stack.addresses[0],
      rest: { production: stack.facades[0]?.production, sandbox: stack.facades[0]?.sandbox },
      webhooks: { grpc: webhooks.ready['grpc'] },
      merchant: { id: merchant.id },
      tokens: { operator: stack.tokens.operator },
    }),
  );

async function openReceiver(behaviour?: Behaviour): Promise<Receiver> {
  const receiver = await startReceiver(behaviour);
  receivers.push(receiver);
  return receiver;
}

/** Starts to listen, and waits until core knows the listener. */
async function listen(...args: readonly string[]): Promise<RunningCommand> {
  const listening = cli.start('listen', ...args);
  await waitUntil('it listens', () => listening.stderr().includes('Listening to'));
  return listening;
}

/** Makes a direct payment, whose order has no webhook_url. */
async function pay(order_number: string, phone = '+251900000000'): Promise<void> {
  const order = { order_number, amount: '100.50', currency: 'ETB', phone };
  const { status } = await callSandbox(stack, merchant, 'direct?payment_option=walleta_ussd', order);
  expect(status).toBe(201);
}

const printed = (listening: RunningCommand, what: RegExp): Promise<boolean> =>
  waitUntil(`${what} is printed`, () => what.test(listening.stdout()));

/** The body, after both signatures of the exact received bytes were verified. */
function opened({ headers, body }: ReceivedWebhook): unknown {
  expect(headers['x-svc-hmac-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'));
  return new Webhook(secret).verify(body, {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
}

describe('gatehouse listen', () => {
  test('prints events as they happen and forwards them signed, with no setting but demo.json', async () => {
    const receiver = await openReceiver();
    const listening = await listen('--forward', `${receiver.origin}/hook?shop=1`);

    await pay('heard-1');
    await printed(listening, /heard-1[^]*answered 204/);
    await pay('heard-2', '+251900000001');
    await printed(listening, /heard-2[^]*answered 204/);
    const { exitCode, stdout, stderr } = await listening.interrupt();

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}order\.completed {7}heard-1 {2}COMPLETED {2}100\.50 ETB\n {2}answered 204 in \d+ ms$/m,
    );
    expect(stdout).toMatch(/Z {2}order\.failed {10}heard-2 {2}FAILED {2}100\.50 ETB\n/);
    expect(stderr).toContain(`test_webhook_secret in ${join(cli.dataFolder, 'demo.json')}`);
    expect(stderr).toMatch(/Stopped listening\.\n$/);
    const [first, second] = receiver.webhooks;
    expect(receiver.webhooks).toHaveLength(2);
    expect(first).toMatchObject({ method: 'POST', target: '/hook?shop=1' });
    expect(first?.headers['content-type']).toBe('application/json');
    expect(opened(first!)).toMatchObject({ type: 'order.completed', data: { order_number: 'heard-1' } });
    expect(opened(second!)).toMatchObject({ type: 'order.failed', data: { order_number: 'heard-2' } });
  });

  test('a receiver that is down or refuses is reported once, and the next event is still forwarded', async () => {
    const down = await closedPort();
    const listening = await listen('--forward', `http://127.0.0.1:${down}/hook`);
    const refusing = await openReceiver(answer(500, {}, 'boom \u001b[2J'));
    const toRefusing = await listen('--forward', refusing.origin);

    await pay('down-1');
    await printed(listening, /not received: nothing listens on 127\.0\.0\.1:\d+\n/);
    await pay('down-2');
    await printed(listening, /down-2[^]*not received/);
    await printed(toRefusing, /down-2[^]*answered 500/);
    const [ended] = await Promise.all([listening.interrupt(), toRefusing.interrupt()]);

    expect(ended.stdout.match(/not received/g)).toHaveLength(2);
    expect(toRefusing.stdout()).toContain(String.raw`< boom \u001b[2J`);
    expect(refusing.webhooks).toHaveLength(2);
  });

  test('ends when the reader of its output is gone, and forwards no more', async () => {
    const receiver = await openReceiver();
    const listening = await listen('--forward', receiver.origin);

    await pay('piped-1');
    await printed(listening, /piped-1[^]*answered 204/);
    listening.closeOutput();
    await pay('piped-2');

    expect(await listening.ended).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Stopped') });
  });

  test('without --forward events are only printed; --json gives each as one line with its exact body', async () => {
    const plain = await listen(merchant.id);
    const json = cli.start('listen', '--json');

    // With --json nothing is printed before the first event, so the test waits for any event.
    let paid = 0;
    await waitUntil('JSON is printed', async () => {
      paid += 1;
      await pay(`plain-${paid}`);
      await printed(plain, new RegExp(`plain-${paid} `));
      return json.stdout().includes('\n');
    });
    const [{ stdout, stderr }] = await Promise.all([json.interrupt(), plain.interrupt()]);

    const heard = JSON.parse(stdout.split('\n')[0]!) as { body: string; headers: Record<string, string> };
    expect(stderr).toBe('');
    expect(heard).toMatchObject({ event_type: 'order.completed', forwarded: null });
    expect(new Webhook(secret).verify(heard.body, heard.headers)).toMatchObject({ environment: 'sandbox' });
    expect(plain.stderr()).toContain('--forward http://localhost:3000/hook');
    expect(plain.stdout()).not.toContain('answered');
  });

  test('reports that the webhooks process is unavailable, ends with Ctrl-C, and continues after a restart of the process', async () => {
    const receiver = await openReceiver();
    const [listening, leaving] = [await listen('--forward', receiver.origin), await listen()];

    await webhooks.stop('SIGKILL');
    for (const each of [listening, leaving])
      await waitUntil('that is noticed', () => each.stderr().includes('was lost. Reconnecting'));
    const left = await leaving.interrupt();
    webhooks = await stack.startWebhooks();
    await waitUntil('it is there again', () => listening.stderr().includes('Reconnected.'));
    await pay('again-1');
    await printed(listening, /again-1[^]*answered 204/);
    const { exitCode } = await listening.interrupt();

    expect([left.exitCode, exitCode]).toEqual([0, 0]);
    expect(opened(receiver.webhooks[0]!)).toMatchObject({ data: { order_number: 'again-1' } });
  });

  test('exits with code 3 for an unknown merchant, and says where the secret of another merchant is', async () => {
    const other = await stack.createMerchant();

    const unknown = await cli.run('listen', 'mer_01m7xjbb99evv8hx2dqm5r8qgn');
    const listening = await listen(other.id, '--forward', 'http://127.0.0.1:9/');
    const { stderr } = await listening.interrupt();

    expect(unknown.exitCode).toBe(3);
    expect(unknown.stderr).toContain('merchant list');
    expect(stderr).toContain(`webhook secret list ${other.id}`);
    expect(stderr).toContain(`webhook secret rotate ${other.id}`);
  });

  test('asks for a merchant when none is given and there is no demo merchant', async () => {
    const elsewhere = await openCommandLine({
      GATEHOUSE_WEBHOOKS_ADDRESSES: String(webhooks.ready['grpc']),
      GATEHOUSE_SERVICE_TOKEN: stack.tokens.operator,
    });

    const { exitCode, stderr } = await elsewhere.run('listen');
    await elsewhere.stop();

    expect(exitCode).toBe(2);
    expect(stderr).toContain('listen <merchant_id>');
  });
});
