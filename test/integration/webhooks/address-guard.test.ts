import { isIP } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Environment } from '../../../src/webhooks/domain/delivery.ts';
import { sendTo, sendingDesk } from './outgoing.ts';

const { openSender, openReceiver, openReceivers, close } = sendingDesk();
afterEach(close);

/** Every form of an address of this machine, or of its network, that a URL can contain. */
const hosts = {
  'loopback, also as numbers':
    '127.0.0.1 127.0.0.1. 127.1 127.0.1 127.255.255.254 2130706433 017700000001 0177.0.0.1 0177.0.0.01',
  'loopback in hexadecimal': '0x7f.1 0X7F.0X0.0x0.0x1 0x7f000001',
  'loopback, escaped or in wide letters':
    '%31%32%37.0.0.1 127%2e0%2e0%2e1 １２７.0.0.1 １２７。０。０。１ ⑫７．０．０．１',
  'this host': '0 0.0.0.0',
  'the name of this machine':
    'localhost localhost. LOCALHOST lOcAlHoSt ｌｏｃａｌｈｏｓｔ %6c%6f%63alhost shop.localhost',
  'IPv6 loopback': '[::1] [::] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001]',
  'loopback mapped into IPv6':
    '[::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:0001] [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::7f00:1]',
  'loopback translated to IPv6': '[64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::]',
  'local IPv6': '[fe80::1] [fc00::1] [ff02::1]',
  'private and link-local': '10.0.0.1 169.254.169.254 0xa9fea9fe 2852039166 192.168.0.1 100.64.0.1',
  broadcast: '255.255.255.255',
};

/** The environment for which the networks of the sandbox are not allowed. */
const production = { environment: 'PRODUCTION' } as const;

test.each(Object.values(hosts).flatMap((forms) => forms.split(' ')))(
  'in production, nothing is sent to %s',
  async (host) => {
    const receiver = await openReceiver();

    const report = await sendTo(openSender(), `http://${host}:${receiver.port}/hook`, production);

    const isName = isIP(new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '')) === 0;
    expect(report).toMatchObject({
      result: isName ? 'NAME_NOT_RESOLVED' : 'ADDRESS_NOT_ALLOWED',
      statusCode: 0,
      remoteAddress: '',
      responseBody: Buffer.alloc(0),
    });
    expect(report.detail).toMatch(
      /^\S+ (is not an|has no) address on the public internet, so nothing was sent/,
    );
    expect(receiver.connectionCount()).toBe(0);
  },
);

test('a name with a private address and a name that does not exist get the same answer in the same time', async () => {
  const unknown = (code: string) => async () => {
    throw Object.assign(new Error('query failed'), { code });
  };
  /** The clock advances by the duration of the lookup, and by the waits of the sender. */
  const attempt = async (lookupMs: number, resolve: () => Promise<readonly string[]>) => {
    let nowMs = 0;
    const sender = openSender({
      monotonicMs: () => nowMs,
      pause: async (ms) => void (nowMs += ms),
      resolve: () => {
        nowMs += lookupMs;
        return resolve();
      },
    });
    const report = await sendTo(sender, 'https://db.corp.example/hook', production);
    return { report, tookMs: nowMs };
  };

  const attempts = [
    await attempt(2, async () => ['10.0.0.1']),
    await attempt(140, unknown('ENOTFOUND')),
    await attempt(1_000, unknown('ENODATA')),
    await attempt(9, async () => []),
  ];

  const [first, ...others] = attempts.map(({ report: { hiddenCause: _cause, ...seen }, tookMs }) => ({
    ...seen,
    tookMs,
  }));
  expect(first).toMatchObject({ result: 'NAME_NOT_RESOLVED', durationMs: 1_000, tookMs: 1_000 });
  expect(first?.detail).toBe(
    'db.corp.example has no address on the public internet, so nothing was sent: check the name and its DNS records (A, AAAA)',
  );
  for (const other of others) expect(other).toEqual(first);
  expect(attempts.map(({ report }) => report.hiddenCause)).toEqual([
    'address_not_allowed',
    'name_unknown',
    'name_unknown',
    'name_unknown',
  ]);
});

describe('networks allowed to the sandbox', () => {
  test.each(['127.0.0.1', 'localhost', '2130706433', '0x7f.1', '127.1', 'LOCALHOST', 'shop.localhost'])(
    '%s receives webhooks',
    async (host) => {
      const receiver = await openReceiver();

      const report = await sendTo(openSender(), `http://${host}:${receiver.port}/hook`);

      expect(report).toMatchObject({ result: 'DELIVERED', remoteAddress: '127.0.0.1' });
    },
  );

  test('IPv6 loopback receives webhooks', async () => {
    const receiver = await openReceiver(undefined, { host: '::1' });

    const report = await sendTo(openSender(), `${receiver.origin}/hook`);

    expect(report).toMatchObject({ result: 'DELIVERED', remoteAddress: '::1' });
  });

  test('another private address receives nothing', async () => {
    const sender = openSender({ sandboxNetworks: ['127.0.0.2'] });
    const receiver = await openReceiver();

    const report = await sendTo(sender, `${receiver.origin}/hook`);

    expect(report.result).toBe('ADDRESS_NOT_ALLOWED');
    expect(receiver.connectionCount()).toBe(0);
  });

  test('production sends nothing to them, not even over a kept connection', async () => {
    const receiver = await openReceiver();
    const sender = openSender();
    const send = (environment: Environment) => sendTo(sender, `${receiver.origin}/hook`, { environment });

    const sandbox = await send('SANDBOX');
    const production = await send('PRODUCTION');

    expect([sandbox.result, production.result]).toEqual(['DELIVERED', 'ADDRESS_NOT_ALLOWED']);
    expect(receiver.webhooks).toHaveLength(1);
  });
});

describe('names with several or changing addresses', () => {
  const onlySecond = { sandboxNetworks: ['127.0.0.2'] };

  test('the addresses that are not allowed are not tried when the allowed one refuses', async () => {
    const forbidden = await openReceiver();
    const sender = openSender({ ...onlySecond, resolve: async () => ['127.0.0.2', '127.0.0.1', '::1'] });

    const report = await sendTo(sender, `http://shop.example:${forbidden.port}/hook`);

    expect(report).toMatchObject({ result: 'CONNECTION_FAILED', remoteAddress: '' });
    expect(forbidden.connectionCount()).toBe(0);
  });

  test('the next allowed address is tried when one refuses', async () => {
    const receiver = await openReceiver(undefined, { host: '127.0.0.2' });
    const sender = openSender({ resolve: async () => ['127.0.0.9', '127.0.0.2'] });

    const report = await sendTo(sender, `http://shop.example:${receiver.port}/hook`);

    expect(report).toMatchObject({ result: 'DELIVERED', remoteAddress: '127.0.0.2' });
  });

  test.each([
    ['not tried', '127.0.0.2', { result: 'CONNECTION_FAILED', remoteAddress: '' }],
    ['tried if it is the only one of its kind', '::1', { result: 'DELIVERED', remoteAddress: '::1' }],
  ])('the last of a hundred addresses is %s', async (_what, host, result) => {
    const receiver = await openReceiver(undefined, { host });
    const refusing = Array.from({ length: 99 }, (_, index) => `127.0.1.${index}`);
    const sender = openSender({ resolve: async () => [...refusing, host] });

    expect(await sendTo(sender, `http://shop.example:${receiver.port}/hook`)).toMatchObject(result);
  });

  test('rebinding while a connection is kept: the connection stays with the checked address', async () => {
    const [allowed, forbidden] = await openReceivers(['127.0.0.2', '127.0.0.1']);
    const answers = [['127.0.0.2'], ['127.0.0.1']];
    const sender = openSender({ ...onlySecond, resolve: async () => answers.shift() ?? [] });
    const url = `http://shop.example:${allowed.port}/hook`;

    const reports = [await sendTo(sender, url), await sendTo(sender, url)];

    expect(reports.map(({ remoteAddress }) => remoteAddress)).toEqual(['127.0.0.2', '127.0.0.2']);
    expect(allowed.connectionCount()).toBe(1);
    expect(forbidden?.connectionCount()).toBe(0);
  });
});
