import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { addPageTurns } from '../../../src/dashboard/access/page-turns.ts';
import type { DashboardUser } from '../../../src/dashboard/access/dashboard-user.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** More than the buffers of a connection hold. */
const moreThanIsInTransit = Buffer.alloc(32 * 1024 * 1024);

/** Pages that are answered when they are released. Each user is named by a header, and belongs to the merchant "shop". */
function buildPages() {
  const held: { readonly user: string; readonly release: () => void }[] = [];
  const app = Fastify();
  app.decorateRequest('signedInUser', null);
  app.addHook('onRequest', async (request) => {
    const { user: userId } = request.headers as { user?: string };
    const memberships: DashboardUser['memberships'] = [
      { merchantId: 'shop', merchantName: 'Shop', role: 'viewer' },
    ];
    request.signedInUser = userId === undefined ? null : ({ userId, memberships } as DashboardUser);
  });
  addPageTurns(app);
  for (const path of ['/', '/m/:merchantId'])
    app.get(path, async (request) => {
      const user = request.signedInUser?.userId ?? 'nobody';
      await new Promise<void>((release) => held.push({ user, release }));
      return user;
    });
  app.get('/m/:merchantId/broken', () => Promise.reject(new Error('broken')));
  for (const path of ['/large', '/m/:merchantId/large'])
    app.get(path, (_request, reply) => reply.send(moreThanIsInTransit));
  const runningOf = (user: string): number => held.filter((each) => each.user === user).length;
  const releaseAll = async (done: Promise<unknown>): Promise<void> => {
    let isDone = false;
    void done.finally(() => (isDone = true));
    await waitUntil('all are answered', () => {
      for (const { release } of held.splice(0)) release();
      return isDone;
    });
  };
  return { app, runningOf, releaseAll };
}

const open = (app: FastifyInstance, user: string | undefined, url = '/') =>
  app.inject({ url, headers: user === undefined ? {} : { user } });
const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

test('six requests of a user are answered at a time, and all in the end', async () => {
  const { app, runningOf, releaseAll } = buildPages();
  const opened = Promise.all(many(40, () => open(app, 'one')));
  await waitUntil('six run', () => runningOf('one') >= 6);
  const other = open(app, 'other');
  await waitUntil("another user's request runs", () => runningOf('other') === 1);
  const strangers = many(10, () => open(app, undefined));
  await waitUntil('requests without a user run', () => runningOf('nobody') === 10);

  expect(runningOf('one')).toBe(6);
  await releaseAll(Promise.all([opened, other, ...strangers]));
  expect(new Set((await opened).map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
});

test('twelve requests about a merchant are answered at a time, for all its users in turn', async () => {
  const { app, runningOf, releaseAll } = buildPages();
  const users = ['one', 'two', 'three', 'four'];
  const running = () => users.map(runningOf).reduce((sum, count) => sum + count);
  const first = ['one', 'two'].flatMap((user) => many(10, () => open(app, user, '/m/shop')));
  await waitUntil('twelve run', () => running() >= 12);
  const later = ['three', 'four'].flatMap((user) => many(10, () => open(app, user, '/m/shop')));
  const elsewhere = many(6, () => open(app, 'five', '/m/other'));
  await waitUntil('requests about another merchant run', () => runningOf('five') === 6);

  expect(running()).toBe(12);
  const answers = Promise.all([...first, ...later, ...elsewhere]);
  await releaseAll(answers);
  expect(new Set((await answers).map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
});

test('requests above the limit of waiting ones are refused', async () => {
  const { app, runningOf, releaseAll } = buildPages();
  const statuses: number[] = [];
  const opened = many(70, async () => {
    const { statusCode } = await open(app, 'one');
    statuses.push(statusCode);
  });
  await waitUntil('four are refused, or all run', () => statuses.length === 4 || runningOf('one') === 70);

  expect(statuses).toEqual([500, 500, 500, 500]);
  await releaseAll(Promise.all(opened));
  expect(statuses.slice(4)).toEqual(many(66, () => 200));
});

test('a request whose client disconnected while it waited takes no turn from the user', async () => {
  const { app, runningOf, releaseAll } = buildPages();
  let open = 0;
  app.server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => (open -= 1));
  });
  let received = 0;
  app.server.on('request', () => (received += 1));
  await app.listen({ port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const ask = () => {
    const sent = httpRequest({ port, agent: false, headers: { user: 'one' } });
    const status = new Promise<number | undefined>((resolve) => {
      sent.once('response', (response) => resolve(response.resume().statusCode));
      sent.once('error', () => resolve(undefined));
    });
    sent.end();
    return { status, leave: () => sent.destroy() };
  };
  const first = many(6, ask);
  await waitUntil('six run', () => runningOf('one') === 6);
  let refused = 0;
  const others = many(61, ask);
  for (const { status } of others) void status.then((code) => (refused += code === 500 ? 1 : 0));
  await waitUntil('one is refused, because the others wait', () => refused === 1);
  for (const { leave } of others) leave();
  await waitUntil('their connections are closed', () => open === 6);

  received = 0;
  const own = many(60, ask);
  await waitUntil('the requests have arrived', () => received === 60);
  const statuses = Promise.all([...first, ...own].map(({ status }) => status));
  await releaseAll(statuses);

  expect(await statuses).toEqual(many(66, () => 200));
  await app.close();
});

test('an answer keeps the turn of its user until it is read', async () => {
  const { app, runningOf, releaseAll } = buildPages();
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const ask = (url: string) => {
    const sent = httpRequest(`${origin}${url}`, { agent: false, headers: { user: 'one' } });
    const answered = once(sent, 'response').then(([response]) => response as IncomingMessage);
    sent.end();
    return { answered, leave: () => sent.destroy() };
  };
  const unread = many(6, () => ask('/large'));
  await Promise.all(unread.map(({ answered }) => answered));
  const statuses: (number | undefined)[] = [];
  const others = many(61, async () => {
    const { statusCode } = (await ask('/').answered).resume();
    statuses.push(statusCode);
  });

  await waitUntil('one is refused, or all run', () => statuses.length === 1 || runningOf('one') > 0);
  expect([statuses, runningOf('one')]).toEqual([[500], 0]);
  for (const { leave } of unread) leave();
  await releaseAll(Promise.all(others));

  expect(statuses.slice(1)).toEqual(many(60, () => 200));
  await app.close();
});

test('answers that are not read keep no turn from other users of the merchant', async () => {
  const { app, runningOf, releaseAll } = buildPages();
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const unread = ['one', 'two', 'three'].flatMap((user) =>
    many(6, () => httpRequest(`${origin}/m/shop/large`, { agent: false, headers: { user } })),
  );
  await Promise.all(unread.map((sent) => once(sent.end(), 'response')));

  const other = open(app, 'four', '/m/shop');
  await waitUntil('another user is answered', () => runningOf('four') === 1);
  await releaseAll(other);

  expect((await other).statusCode).toBe(200);
  for (const sent of unread) sent.destroy();
  await app.close();
});

test('a request that fails ends its turn', async () => {
  const { app } = buildPages();

  const answers = await Promise.all(many(40, () => open(app, 'one', '/m/shop/broken')));

  expect(answers.map(({ statusCode }) => statusCode)).toEqual(many(40, () => 500));
});
