import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { sendCsv } from '../../../src/dashboard/csv/send-csv.ts';
import type { CsvDownload } from '../../../src/dashboard/csv/send-csv.ts';
import { PageProblem } from '../../../src/dashboard/page-problem.ts';

type Page = { readonly nextPageToken: string };

const reader = new AbortController();
let app: FastifyInstance;
let origin = '';
let isAllowed = true;
let read: CsvDownload<Page>['read'];
let ended: PromiseWithResolvers<undefined>;

beforeEach(async () => {
  ended = Promise.withResolvers();
  app = Fastify();
  app.decorateRequest('signedInUser', null);
  app.decorateRequest('recheckAccess', async () => {
    if (!isAllowed) throw new PageProblem('notFound', 'NOT_A_MEMBER');
  });
  app.get('/', (request, reply) => {
    reply.raw.once('close', () => ended.resolve(undefined));
    const lines = (): string => '';
    return sendCsv(request, reply, {
      ...{ name: 'all.csv', start: 'head\r\n', first: { nextPageToken: '1' }, lines },
      read: (...given) => read(...given),
    });
  });
  origin = await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(() => app.close());

const download = async (): Promise<string> => (await fetch(origin, { signal: reader.signal })).text();

test('a download is aborted before the next page when its user has lost access', async () => {
  let pages = 0;
  read = async () => {
    pages += 1;
    isAllowed = false;
    return { nextPageToken: 'more' };
  };

  await expect(download()).rejects.toThrow();
  expect(pages).toBe(1);
});

test('a download without matches reads no page after its browser has left', async () => {
  isAllowed = true;
  const signals: (AbortSignal | undefined)[] = [];
  read = async (_token, { signal }) => {
    signals.push(signal);
    reader.abort();
    if (signal?.aborted === false) await once(signal, 'abort');
    return { nextPageToken: 'more' };
  };

  await expect(download()).rejects.toThrow();
  await ended.promise;
  await app.close();

  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});
