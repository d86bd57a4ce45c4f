import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createResolve, renewResolver, resolverOptions } from '../../../src/platform/resolve-name.ts';
import type { Resolve } from '../../../src/platform/resolve-name.ts';
import { startNameServer } from './name-server.ts';
import type { DnsQuestion } from './name-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const closing = closersOfEachTest();
type RecordType = 'A' | 'AAAA';

/** An address as its bytes, or the code of another answer; undefined: no answer. */
type Answer = readonly number[] | Parameters<DnsQuestion['reply']>[1];

type ResolveParts = NonNullable<Parameters<typeof createResolve>[0]>;

/** Resolves with a real name server that answers every question about a type in the same way. */
async function resolveWith(
  answers: Readonly<Record<RecordType, Answer>>,
  parts: ResolveParts = {},
  timeoutMs = 100,
) {
  const questions: string[] = [];
  const { resolver, close } = await startNameServer(({ name, type, reply }) => {
    questions.push(`${name} ${type}`);
    const answer = answers[type];
    if (answer === undefined) return undefined;
    return typeof answer === 'string' ? reply([], answer) : reply([{ type, data: answer }]);
  }, timeoutMs);
  closing.push(close);
  return { resolve: createResolve({ currentResolver: () => resolver, ...parts }), questions };
}

const v4 = [198, 51, 100, 7];
const v6 = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];

test('a name has the addresses of both families', async () => {
  const { resolve, questions } = await resolveWith({ A: v4, AAAA: v6 });

  expect(await resolve('Shop.example')).toEqual(['198.51.100.7', '2001:db8::7']);
  expect([...questions].sort()).toEqual(['shop.example A', 'shop.example AAAA']);
});

test.each([
  ['of one family only', { A: v4, AAAA: 'NOERROR' }, ['198.51.100.7']],
  ['of the other family only', { A: 'NOERROR', AAAA: v6 }, ['2001:db8::7']],
  ['of one family when the lookup of the other fails', { A: v4, AAAA: 'SERVFAIL' }, ['198.51.100.7']],
  ['of one family when the lookup of the other gets no answer', { A: undefined, AAAA: v6 }, ['2001:db8::7']],
] satisfies [string, Record<RecordType, Answer>, string[]][])(
  'a name has the addresses %s',
  async (_what, answers, addresses) => {
    const { resolve } = await resolveWith(answers);

    expect(await resolve('shop.example')).toEqual(addresses);
  },
);

test.each([
  ['IPv4', { A: v4, AAAA: undefined }, ['198.51.100.7']],
  ['IPv6', { A: undefined, AAAA: v6 }, ['2001:db8::7']],
] satisfies [string, Record<RecordType, Answer>, string[]][])(
  'found addresses of %s do not wait long for a name server that never answers about the other kind',
  async (_kind, answers, addresses) => {
    const anHour = 60 * 60_000;
    const { resolve, questions } = await resolveWith(answers, {}, anHour);

    expect(await resolve('shop.example')).toEqual(addresses);
    expect(questions).toHaveLength(2);
  },
  60_000,
);

test('a name server that is slow to answer is asked four times', async () => {
  let unanswered = 3;
  const { resolver, close } = await startNameServer(
    ({ type, reply }) => {
      if (type === 'AAAA') return reply([]);
      unanswered -= 1;
      return unanswered < 0 ? reply([{ type, data: v4 }]) : undefined;
    },
    100,
    resolverOptions.tries,
  );
  closing.push(close);

  expect(await createResolve({ currentResolver: () => resolver })('shop.example')).toEqual(['198.51.100.7']);
});

test('the name servers of this machine are read again after a minute', async () => {
  let nowMs = 0;
  const addresses = [v4, [198, 51, 100, 8]];
  const servers = await Promise.all(
    addresses.map((data) =>
      startNameServer(({ type, reply }) => reply(type === 'A' ? [{ type, data }] : []), 1_000),
    ),
  );
  closing.push(...servers.map(({ close }) => close));
  const resolvers = servers.map(({ resolver }) => resolver);
  const currentResolver = renewResolver(
    () => resolvers.shift()!,
    () => nowMs,
  );
  const resolve = createResolve({ currentResolver });

  expect(await resolve('shop.example')).toEqual(['198.51.100.7']);
  nowMs = 59_999;
  expect(await resolve('shop.example')).toEqual(['198.51.100.7']);
  nowMs = 60_000;
  expect(await resolve('shop.example')).toEqual(['198.51.100.8']);
});

test.each([
  ['silence', { A: undefined, AAAA: undefined }, 'ETIMEOUT'],
  ['failure', { A: 'SERVFAIL', AAAA: 'SERVFAIL' }, 'ESERVFAIL'],
  ['failure for one family and no address for the other', { A: 'NXDOMAIN', AAAA: 'SERVFAIL' }, 'ESERVFAIL'],
] satisfies [string, Record<RecordType, Answer>, string][])(
  'the answer "%s" is final, and the system’s resolver is not asked',
  async (_what, answers, code) => {
    const { resolve } = await resolveWith(answers);

    await expect(resolve('shop.example')).rejects.toMatchObject({ code });
  },
);

test('a name that neither the name servers nor this machine knows is not found', async () => {
  const { resolve } = await resolveWith({ A: 'NXDOMAIN', AAAA: 'NXDOMAIN' });

  await expect(resolve('shop.invalid')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('the system looks up one name at a time, so that this process has threads for its own lookups', async () => {
  let running = 0;
  let most = 0;
  const names = Array.from({ length: 8 }, (_, number) => `shop-${number}.example`);
  const lookUp: Resolve = async () => {
    running += 1;
    most = Math.max(most, running);
    await waitUntil('all names were asked for', () => questions.length === 2 * names.length);
    running -= 1;
    return ['198.51.100.7'];
  };
  const { resolve, questions } = await resolveWith({ A: 'NXDOMAIN', AAAA: 'NXDOMAIN' }, { lookUp });

  expect(await Promise.all(names.map((name) => resolve(name)))).toEqual(names.map(() => ['198.51.100.7']));
  expect(most).toBe(1);
});

test('a name of the hosts file does not wait for the system’s lookup of other names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-hosts-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const hostsFile = join(folder, 'hosts');
  writeFileSync(hostsFile, '198.51.100.7 shop.example\n');
  const slow = Promise.withResolvers<readonly string[]>();
  const lookedUp: string[] = [];
  const lookUp: Resolve = (name) => {
    lookedUp.push(name);
    return slow.promise;
  };
  const { resolve } = await resolveWith({ A: 'NXDOMAIN', AAAA: 'NXDOMAIN' }, { lookUp, hostsFile });
  const other = resolve('slow.example');
  await waitUntil('the other name is looked up', () => lookedUp.length === 1);
  const found = resolve('Shop.example.');
  const first = await Promise.race([found, once(AbortSignal.timeout(10_000), 'abort').then(() => 'late')]);
  slow.resolve(['198.51.100.9']);

  expect(first).toEqual(['198.51.100.7']);
  expect(await other).toEqual(['198.51.100.9']);
  expect(lookedUp).toEqual(['slow.example']);
});

test('the system looks up one name of a merchant at a time, and those of another merchant meanwhile', async () => {
  const lookedUp: string[] = [];
  const slow = Promise.withResolvers<readonly string[]>();
  const lookUp: Resolve = (name) => {
    lookedUp.push(name);
    return name === 'slow.example' ? slow.promise : Promise.resolve(['198.51.100.8']);
  };
  const { resolve } = await resolveWith({ A: 'NXDOMAIN', AAAA: 'NXDOMAIN' }, { lookUp });
  const first = resolve('slow.example', 'mer_1');
  await waitUntil('the slow name is looked up', () => lookedUp.length === 1);
  const second = resolve('next.example', 'mer_1');

  expect(await resolve('shop.example', 'mer_2')).toEqual(['198.51.100.8']);
  expect(await resolve('shop.example', 'mer_3')).toEqual(['198.51.100.8']);
  expect(lookedUp).toEqual(['slow.example', 'shop.example', 'shop.example']);
  slow.resolve([]);
  expect([await first, await second]).toEqual([[], ['198.51.100.8']]);
});

test('merchants whose names were slow share one of the two places of the system’s lookup for an hour', async () => {
  let nowMs = 0;
  const slow = new Map<string, PromiseWithResolvers<readonly string[]>>();
  const lookUp: Resolve = async (name) => {
    if (name.startsWith('shop')) return ['198.51.100.8'];
    const lookup = Promise.withResolvers<readonly string[]>();
    slow.set(name, lookup);
    return lookup.promise;
  };
  const { resolve } = await resolveWith(
    { A: 'NXDOMAIN', AAAA: 'NXDOMAIN' },
    { lookUp, monotonicMs: () => nowMs, turnWithinMs: 60_000 },
  );
  const asked: Promise<readonly string[]>[] = [];
  const ask = (name: string, owner: string): void => void asked.push(resolve(name, owner));
  const lookedUp = (...names: string[]) =>
    waitUntil(`these are looked up: ${names.join()}`, () => names.every((name) => slow.has(name)));
  // The second name of each owner waits for its turn while the first is looked up.
  ask('a1.example', 'mer_a');
  await lookedUp('a1.example');
  ask('a2.example', 'mer_a');
  ask('b1.example', 'mer_b');
  await lookedUp('b1.example');
  ask('b2.example', 'mer_b');
  nowMs += 10_000;
  slow.get('a1.example')?.resolve([]);
  slow.get('b1.example')?.resolve([]);
  await lookedUp('a2.example');

  expect(await resolve('shop.example', 'mer_c')).toEqual(['198.51.100.8']);
  expect([...slow.keys()]).toEqual(['a1.example', 'b1.example', 'a2.example']);
  nowMs += 3_600_001;
  ask('b3.example', 'mer_b');
  await lookedUp('b3.example');
  expect(slow.has('b2.example')).toBe(false);
  slow.get('a2.example')?.resolve([]);
  slow.get('b3.example')?.resolve([]);
  await lookedUp('b2.example');
  slow.get('b2.example')?.resolve([]);
  expect(await Promise.all(asked)).toEqual([[], [], [], [], []]);
});

test('a name that waits too long for the system’s lookup is not looked up', async () => {
  const lookedUp: string[] = [];
  const silent = Promise.withResolvers<never>();
  const lookUp: Resolve = (name) => {
    lookedUp.push(name);
    return silent.promise;
  };
  const turnWithinMs = 50;
  const { resolve } = await resolveWith({ A: 'NXDOMAIN', AAAA: 'NXDOMAIN' }, { lookUp, turnWithinMs });
  const first = resolve('silent.example');
  await waitUntil('the first name is looked up', () => lookedUp.length === 1);
  await expect(resolve('shop.example')).rejects.toMatchObject({ code: 'ETIMEOUT' });
  silent.reject(Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' }));

  await expect(first).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  expect(lookedUp).toEqual(['silent.example']);
});

test.each(['localhost', 'localhost.', 'LocalHost', 'shop.localhost'])(
  '%s means this machine, and no name server is asked',
  async (name) => {
    const { resolve, questions } = await resolveWith({ A: v4, AAAA: v6 });

    expect(await resolve(name)).toEqual(['127.0.0.1', '::1']);
    expect(questions).toEqual([]);
  },
);
