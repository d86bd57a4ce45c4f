import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';
import { buildDelivery, sendTo, sendingDesk } from './outgoing.ts';
import type { Behaviour } from './receivers.ts';
import { answer, silence, startReceiver } from './receivers.ts';

const { openSender, openReceiver, close } = sendingDesk();
afterEach(close);

const never = new AbortController().signal;

/** Until the returned function is called, this process can open no file and no socket. */
async function takeDescriptors(): Promise<() => Promise<unknown>> {
  const script = `
    before=$(prlimit --pid $PPID --nofile --output=SOFT --noheadings)
    prlimit --pid $PPID --nofile=3: && echo taken
    read _
    prlimit --pid $PPID --nofile=$before:`;
  const shell = spawn('bash', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(shell.stdout, 'data');
  return () => {
    shell.stdin.end();
    return once(shell, 'exit');
  };
}

describe('sending a webhook', () => {
  test('transmits the exact bytes by POST to the exact URL, with the given headers and a User-Agent', async () => {
    const receiver = await openReceiver();
    const body = Buffer.from('{"data":{"reason":"ሦስት መጻሕፍት"}}');

    await sendTo(openSender(), `${receiver.origin}/a/%20b?token=x%26y&z#part`, { body });

    const [webhook] = receiver.webhooks;
    expect(webhook).toMatchObject({ method: 'POST', target: '/a/%20b?token=x%26y&z', body });
    expect(webhook!.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(body.length),
      host: `127.0.0.1:${receiver.port}`,
      'user-agent': 'Gatehouse-Webhooks/1.2.3',
      'webhook-id': 'evt_01jd4s6w3hfk0a8m2x7v5n9q1r',
    });
  });

  test('transmits nothing else: no cookie of an earlier answer, and no credentials', async () => {
    const receiver = await openReceiver(answer(204, { 'set-cookie': 'session=1' }));
    const sender = openSender();

    await sendTo(sender, receiver.origin);
    await sendTo(sender, receiver.origin);

    for (const { headers } of receiver.webhooks) {
      expect(Object.keys(headers).sort()).toEqual([
        'connection',
        'content-length',
        'content-type',
        'host',
        'user-agent',
        'webhook-id',
        'webhook-signature',
        'webhook-timestamp',
        'x-svc-hmac-signature',
      ]);
    }
  });

  test('reports its duration in whole milliseconds of the monotonic clock', async () => {
    const times = [1_000, 1_000, 1_250.4];
    const receiver = await openReceiver(answer(200, {}, 'thanks'));

    const report = await sendTo(openSender({ monotonicMs: () => times.shift() ?? 1_250.4 }), receiver.origin);

    expect(report).toEqual({
      durationMs: 250,
      result: 'DELIVERED',
      detail: '',
      statusCode: 200,
      remoteAddress: '127.0.0.1',
      responseBody: Buffer.from('thanks'),
      retryAfter: '',
    });
  });
});

describe('connections', () => {
  test('concurrent webhooks have a connection each, so none waits for another', async () => {
    const receiver = await openReceiver(silence);
    const sender = openSender();
    const held: (() => void)[] = [];
    receiver.behave(({ response }) => held.push(() => response.writeHead(204).end()));

    const sent = Array.from({ length: 20 }, () => sendTo(sender, receiver.origin));
    await waitUntil('all have arrived', () => held.length === 20);
    for (const release of held) release();
    const reports = await Promise.all(sent);

    expect(reports.map(({ result }) => result)).toEqual(reports.map(() => 'DELIVERED'));
    expect(receiver.connectionCount()).toBe(20);
  });

  test('a reused connection that is closed during a webhook is replaced, and the webhook arrives', async () => {
    const receiver = await openReceiver();
    const sender = openSender();
    await sendTo(sender, receiver.origin);
    receiver.behave(({ socket }) => {
      receiver.behave(answer(204));
      socket.resetAndDestroy();
    });

    const report = await sendTo(sender, receiver.origin);

    expect(report).toMatchObject({ result: 'DELIVERED', statusCode: 204 });
    expect(receiver.connectionCount()).toBe(2);
  });

  test('a connection is replaced once, and a receiver that always disconnects has failed', async () => {
    const receiver = await openReceiver();
    const sender = openSender();
    await sendTo(sender, receiver.origin);
    receiver.behave(({ socket }) => socket.resetAndDestroy());

    const report = await sendTo(sender, receiver.origin);

    expect(report.result).toBe('CONNECTION_FAILED');
    expect(receiver.webhooks).toHaveLength(3);
  });

  test('a new connection that is closed is not tried again', async () => {
    const receiver = await openReceiver(({ socket }) => socket.resetAndDestroy());

    const report = await sendTo(openSender(), receiver.origin);

    expect(report.result).toBe('CONNECTION_FAILED');
    expect(receiver.webhooks).toHaveLength(1);
  });

  test('a webhook whose answer breaks off is not repeated on another connection', async () => {
    const receiver = await openReceiver();
    const sender = openSender();
    await sendTo(sender, receiver.origin);
    receiver.behave(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n', () => socket.resetAndDestroy());
    });

    const report = await sendTo(sender, receiver.origin);

    expect(report).toMatchObject({ result: 'CONNECTION_FAILED', statusCode: 200 });
    expect(receiver.webhooks).toHaveLength(2);
  });

  test('a connection whose server has stopped in between is replaced', async () => {
    const predecessor = await startReceiver();
    const sender = openSender();
    await sendTo(sender, predecessor.origin);
    await predecessor.close();
    const receiver = await openReceiver(answer(200), { port: predecessor.port });

    const report = await sendTo(sender, receiver.origin);

    expect(report).toMatchObject({ result: 'DELIVERED', statusCode: 200 });
  });

  test('an idle connection is closed before the time that the server announced', async () => {
    const receiver = await openReceiver(answer(204, { connection: 'keep-alive', 'keep-alive': 'timeout=3' }));

    await sendTo(openSender(), receiver.origin);

    await waitUntil('it is closed', () => receiver.openConnectionCount() === 0);
  });

  test('a connection is kept for the next webhooks to the same origin, for a minute, so that a new address of the name is found', async () => {
    let clock = 0;
    const receiver = await openReceiver();
    const sender = openSender({ monotonicMs: () => clock });
    for (const path of ['/a', '/b']) await sendTo(sender, receiver.origin + path);
    expect(receiver.connectionCount()).toBe(1);
    clock += 61_000;

    for (const path of ['/a', '/b']) await sendTo(sender, receiver.origin + path);

    expect(receiver.webhooks).toHaveLength(4);
    expect(receiver.connectionCount()).toBe(2);
  });

  test('at most 512 connections are kept, to any number of origins', async () => {
    const receiver = await openReceiver(
      answer(204, { connection: 'keep-alive', 'keep-alive': 'timeout=60' }),
    );
    // The names are looked up in the merchant's turn.
    const owners = new Set<string | undefined>();
    const sender = openSender({
      resolve: async (_name, owner) => {
        owners.add(owner);
        return ['127.0.0.1'];
      },
    });
    const sendToShop = (shop: number) => sendTo(sender, `http://shop-${shop}.example:${receiver.port}/`);

    for (let shop = 0; shop < 600; shop += 1) await sendToShop(shop);

    await sendToShop(599);
    expect(receiver.connectionCount()).toBe(600);
    // The 513th from the end was closed for the last one.
    await sendToShop(599 - 512);
    expect(receiver.connectionCount()).toBe(601);
    expect([...owners]).toEqual([buildDelivery('http://shop.example').merchantId]);
  });

  test('all connections are closed with the sender', async () => {
    const receiver = await openReceiver();
    const sender = openSender();
    await sendTo(sender, receiver.origin);

    await sender.close();

    await waitUntil('it is closed', () => receiver.openConnectionCount() === 0);
  });
});

describe('a stop', () => {
  test.each([
    ['while it is waiting for the answer', silence],
    [
      'while it is reading the answer',
      ({ socket }) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'),
    ],
  ] satisfies [string, Behaviour][])(
    '%s leaves no report, and closes the connection',
    async (_when, behaviour) => {
      const receiver = await openReceiver(behaviour);
      const stop = new AbortController();
      const sent = openSender().send(buildDelivery(receiver.origin), {}, stop.signal);
      await waitUntil('it has arrived', () => receiver.webhooks.length === 1);

      stop.abort(new Error('the process ends'));

      await expect(sent).rejects.toThrow('the process ends');
      await waitUntil('it is closed', () => receiver.openConnectionCount() === 0);
    },
  );

  test.each<[string, (stop: () => void) => Parameters<typeof openSender>[0]]>([
    ['during the name lookup', (stop) => ({ resolve: () => new Promise(stop) })],
    [
      'during the wait that hides why a name has no address',
      (stop) => ({ resolve: async () => ['10.0.0.1'], pause: async () => stop() }),
    ],
  ])('%s leaves no report', async (_when, optionsWith) => {
    const stop = new AbortController();
    const sender = openSender(optionsWith(() => stop.abort(new Error('the process ends'))));

    const sent = sender.send(buildDelivery('http://shop.example/'), {}, stop.signal);

    await expect(sent).rejects.toThrow('the process ends');
  });

  test('before the start sends nothing', async () => {
    const receiver = await openReceiver();
    const stopped = AbortSignal.abort(new Error('the process ends'));

    const sent = openSender().send(buildDelivery(receiver.origin), {}, stopped);

    await expect(sent).rejects.toThrow('the process ends');
    expect(receiver.connectionCount()).toBe(0);
  });

  test('of the sender ends attempts in flight', async () => {
    const receiver = await openReceiver(silence);
    const sender = openSender();
    const sent = sender.send(buildDelivery(receiver.origin), {}, never);
    await waitUntil('it has arrived', () => receiver.webhooks.length === 1);

    await Promise.all([expect(sent).rejects.toThrow('the sender was closed'), sender.close()]);
  });
});

test.each([
  ['a connection', 'http://127.0.0.1:9', 'EMFILE'],
  ['a question to a name server', 'http://shop.example', 'ECONNREFUSED'],
])(
  'without a file descriptor for %s, the webhook is not sent, and its receiver has not failed',
  async (_, url, code) => {
    const receiver = await openReceiver();
    const sender = openSender();
    await sendTo(sender, receiver.origin);
    const giveBack = await takeDescriptors();

    const sent = await sendTo(sender, url).catch((error: unknown) => error);

    await giveBack();
    expect(sent).toMatchObject({ code });
  },
);
