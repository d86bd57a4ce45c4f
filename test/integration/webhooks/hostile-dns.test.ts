import { afterEach, expect, test } from '@jest/globals';
import { createResolve } from '../../../src/platform/resolve-name.ts';
import { startNameServer } from './name-server.ts';
import type { DnsRecord } from './name-server.ts';
import { sendTo, sendingDesk } from './outgoing.ts';

// Name servers of a merchant who wants webhooks to reach the operator's network. Only 127.0.0.2 is allowed here.

const { openSender, openReceivers, closeLater, close } = sendingDesk();
afterEach(close);

const wireName = (name: string): number[] => [
  ...name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]),
  0,
];
const a = (address: string): DnsRecord => ({ type: 'A', data: address.split('.').map(Number) });
const aaaa = (hex: string): DnsRecord => ({ type: 'AAAA', data: [...Buffer.from(hex, 'hex')] });
const alias = (from: string, to: string): DnsRecord => ({
  type: 'CNAME',
  data: wireName(to),
  owner: wireName(from),
});
const about = (name: string, record: DnsRecord): DnsRecord => ({ ...record, owner: wireName(name) });

type Answer = readonly DnsRecord[] | 'garbage' | 'another id' | 'half';

/**
 * Sends webhooks to http://shop.example. Its name server gives these answers to questions about A, one after the
 * other, and the last to all further ones.
 */
async function deskWith(...answers: readonly [Answer, ...Answer[]]) {
  let asked = 0;
  const { resolver, close: closeServer } = await startNameServer(({ type, reply }) => {
    const answer = answers[Math.min(asked, answers.length - 1)] ?? [];
    if (type === 'A') asked += 1;
    const records = typeof answer === 'string' ? [a('127.0.0.1')] : answer;
    const sent = reply(records.filter((record) => record.type === 'CNAME' || record.type === type));
    if (answer === 'another id') sent.writeUInt16BE((sent.readUInt16BE(0) + 1) % 65_536, 0);
    if (answer === 'half') return sent.subarray(0, -3);
    return answer === 'garbage' ? Buffer.alloc(100, 0xff) : sent;
  }, 2_000);
  closeLater(closeServer);
  const [allowed, ...forbidden] = await openReceivers(['127.0.0.2', '127.0.0.1', '::1'], ({ response }) =>
    response.writeHead(204, { connection: 'close' }).end(),
  );
  const sender = openSender({
    sandboxNetworks: ['127.0.0.2'],
    resolve: createResolve({ currentResolver: () => resolver }),
  });
  return {
    send: () => sendTo(sender, `http://shop.example:${allowed.port}/hook`),
    reached: () => allowed.webhooks.length,
    forbiddenConnections: () => forbidden.reduce((sum, { connectionCount }) => sum + connectionCount(), 0),
  };
}

const chain = (end: DnsRecord): DnsRecord[] => [
  alias('shop.example', 'a.example'),
  alias('a.example', 'b.example'),
  alias('b.example', 'c.example'),
  about('c.example', end),
];
const manyBut = (at: number): DnsRecord[] =>
  Array.from({ length: 20 }, (_, index) => a(index === at ? '127.0.0.2' : '127.0.0.1'));

test.each<[name: string, answer: Answer]>([
  ['this machine', [a('127.0.0.1')]],
  ['the metadata of clouds', [a('169.254.169.254')]],
  ['IPv6 loopback', [aaaa('00000000000000000000000000000001')]],
  ['IPv4 loopback within IPv6', [aaaa('00000000000000000000ffff7f000001')]],
  ['loopback at the end of aliases', chain(a('127.0.0.1'))],
  ['IPv6 loopback at the end of aliases', chain(aaaa('00000000000000000000000000000001'))],
  ['an alias of localhost', [alias('shop.example', 'localhost'), about('localhost', a('127.0.0.1'))]],
  ['aliases in a circle', [alias('shop.example', 'a.example'), alias('a.example', 'shop.example')]],
  ['an alias without an address', [alias('shop.example', 'localhost')]],
  ['an allowed address of another name', [about('other.example', a('127.0.0.1'))]],
  ['an address of three bytes', [{ type: 'A', data: [127, 0, 0] }]],
  ['an address of 16 bytes', [{ type: 'A', data: [127, 0, 0, 1, ...Array<number>(12).fill(0)] }]],
  ['garbage', 'garbage'],
  ['the reply to another question', 'another id'],
  ['half a reply', 'half'],
])('nothing is sent to a name whose answer is %s', async (_name, answer) => {
  const { send, reached, forbiddenConnections } = await deskWith(answer);

  const report = await send();

  expect(report).toMatchObject({ result: 'NAME_NOT_RESOLVED', statusCode: 0, remoteAddress: '' });
  expect({ reached: reached(), forbidden: forbiddenConnections() }).toEqual({ reached: 0, forbidden: 0 });
});

test.each<[name: string, answer: Answer]>([
  ['the first of many', manyBut(0)],
  ['the last of many', manyBut(19)],
  ['in between', manyBut(9)],
  ['at the end of aliases', chain(a('127.0.0.2'))],
  ['beside IPv6 loopback', [aaaa('00000000000000000000000000000001'), a('127.0.0.2')]],
])('only the allowed address is connected to: %s', async (_name, answer) => {
  const { send, reached, forbiddenConnections } = await deskWith(answer);

  expect(await send()).toMatchObject({ result: 'DELIVERED', remoteAddress: '127.0.0.2' });
  expect({ reached: reached(), forbidden: forbiddenConnections() }).toEqual({ reached: 1, forbidden: 0 });
});

test.each(['127.0.0.1', '169.254.169.254', '10.0.0.1'])(
  'a name that changes to %s between two webhooks, with a time to live of 0, gets only the first',
  async (address) => {
    const { send, reached, forbiddenConnections } = await deskWith(
      [a('127.0.0.2')],
      [a(address)],
      [a('127.0.0.2')],
    );

    const results = [await send(), await send(), await send()].map(({ result }) => result);

    expect(results).toEqual(['DELIVERED', 'NAME_NOT_RESOLVED', 'DELIVERED']);
    expect({ reached: reached(), forbidden: forbiddenConnections() }).toEqual({ reached: 2, forbidden: 0 });
  },
);
