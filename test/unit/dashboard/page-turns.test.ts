import { expect, test } from '@jest/globals';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { addPageTurns } from '../../../src/dashboard/access/page-turns.ts';
import type { Viewer } from '../../../src/dashboard/access/viewer.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Pages that are answered when they are released. Each user is named by a header. */
function buildPages() {
  const held: { readonly user: string; readonly release: () => void }[] = [];
  const app = Fastify();
  app.decorateRequest('viewer', null);
  app.addHook('onRequest', async (request) => {
    const { user: userId } = request.headers as { user?: string };
    request.viewer = userId === undefined ? null : ({ userId } as Viewer);
  });
  addPageTurns(app);
  app.get('/', async (request) => {
    const user = request.viewer?.userId ?? 'nobody';
    await new Promise<void>((release) => held.push({ user, release }));
    return user;
  });
  app.get('/broken', () => Promise.reject(new Error('broken')));
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

test('a request that fails ends its turn', async () => {
  const { app } = buildPages();

  const answers = await Promise.all(many(40, () => open(app, 'one', '/broken')));

  expect(answers.map(({ statusCode }) => statusCode)).toEqual(many(40, () => 500));
});
