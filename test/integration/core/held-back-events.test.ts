import { expect, test } from '@jest/globals';
import type { PoolClient, QueryConfig } from 'pg';
import { createEventFeed } from '../../../src/core/events/follow-events.ts';
import { heldBackMs, latestCursor, readEvents } from '../../../src/core/events/read-events.sql.ts';
import { relayEvents } from '../../../src/core/events/relay-events.ts';
import { beginning } from '../../../src/contract/event-cursor.ts';
import type { StoredId } from '../../../src/contract/public-id.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import { storedId } from '../../support/ids.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { beginLateEvent } from './late-event.ts';

const logger = createLogger({ process: 'test', instance: 'test', level: 'silent' });
const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('held back events', () => testDatabase.url, 4);

/** Starts a relay that hands the ids of its messages to `publish`. Returns its end. */
const startRelay = (
  publish: (ids: readonly string[]) => unknown,
  stop: AbortSignal,
  own: Partial<Parameters<typeof relayEvents>[0]> = {},
) =>
  relayEvents(
    {
      ...{ database, logger, signal: createWakeSignal(), mayRelay: () => true },
      continuesStream: () => Promise.resolve(true),
      publisher: {
        stream: 'test',
        publish: async (messages) => void publish(messages.map(({ id }) => id)),
      },
      ...own,
    },
    stop,
  );

/** A signal that never occurs by itself, and the times that its readers would wait for it. */
function recordedSignal() {
  const signal = createWakeSignal();
  const waits: number[] = [];
  return {
    waits,
    signal: {
      ...signal,
      wait: (timeoutMs: number, stop: AbortSignal, since?: number) => {
        waits.push(timeoutMs);
        return signal.wait(timeoutMs, stop, since);
      },
    },
  };
}

test('an event that a running transaction holds back is read soon after that transaction ends', async () => {
  const stop = new AbortController();
  const published: string[] = [];
  const relay = recordedSignal();
  const { signal } = relay;
  const relaying = startRelay((ids) => published.push(...ids), stop.signal, { signal });
  const follower = recordedSignal();
  const followed: number[] = [];
  const following = (async () => {
    const feed = createEventFeed(database, follower.signal);
    for await (const { events } of feed.follow(await feed.latest(), {}, stop.signal, reader))
      followed.push(events.length);
  })();
  const holding = await beginLateEvent(testDatabase.url);
  const held = await beginLateEvent(testDatabase.url);
  try {
    await waitUntil('both have read', () => relay.waits.length > 0 && follower.waits.length > 0);
    await held.insert();
    await held.commit();
    await waitUntil(
      'both look again soon',
      () => relay.waits.at(-1) === heldBackMs && follower.waits.at(-1) === heldBackMs,
    );
    const heldBackWaits = relay.waits.filter((ms) => ms <= heldBackMs);
    expect(heldBackWaits.slice(0, 6)).toEqual([1, 2, 4, 8, 16, heldBackMs]);
    expect([published, followed.filter((count) => count > 0)]).toEqual([[], []]);
    await holding.rollback();
    await waitUntil('both have the event', () => published.length > 0 && followed.some((count) => count > 0));
    expect(published).toEqual([held.eventId]);
    await waitUntil(
      'both rest again',
      () => (relay.waits.at(-1) ?? 0) > heldBackMs && (follower.waits.at(-1) ?? 0) > heldBackMs,
    );
  } finally {
    stop.abort();
    await Promise.all([relaying, following, holding.end(), held.end()]);
  }
});

test('a relay publishes nothing before its database has the newest event of the stream', async () => {
  const stop = new AbortController();
  // No event waits, only a change of an account.
  await database.pool.query(`begin; set local session_replication_role = 'replica';
    insert into core.account_changes (merchant_id, environment, wallet, changed_at)
    values (gen_random_uuid(), 'SANDBOX', 'walleta', now()); commit`);
  let answers = 0;
  const publishedAfter: number[] = [];
  const continuesStream = () => Promise.resolve((answers += 1) > 1);
  const relaying = startRelay(() => publishedAfter.push(answers), stop.signal, { continuesStream });
  const late = await beginLateEvent(testDatabase.url);
  try {
    await late.insert();
    await late.commit();
    await waitUntil('it is published', () => publishedAfter.length > 0);
    expect(publishedAfter[0]).toBe(2);
  } finally {
    stop.abort();
    await Promise.all([relaying, late.end()]);
  }
});

test('a relay that must not continue leaves the next event to another core', async () => {
  const stop = new AbortController();
  const by: string[] = [];
  const first = startRelay(() => by.push('first'), stop.signal, { mayRelay: () => by.length === 0 });
  const events = [await beginLateEvent(testDatabase.url), await beginLateEvent(testDatabase.url)];
  const commit = async (event = events[0]) => {
    await event?.insert();
    await event?.commit();
  };
  await commit();
  await waitUntil('the first event is published', () => by.length > 0);
  const second = startRelay(() => by.push('second'), stop.signal);
  try {
    await commit(events[1]);
    await waitUntil('the next event is published', () => by.length > 1);
    expect(by).toEqual(['first', 'second']);
  } finally {
    stop.abort();
    await Promise.all([first, second, ...events.map((event) => event.end())]);
  }
  const sortOf = () => database.pool.query<{ enable_sort: string }>('show enable_sort');
  const shown = await Promise.all([sortOf(), sortOf(), sortOf(), sortOf()]);
  expect(shown.map(({ rows }) => rows[0]?.enable_sort)).toEqual(['on', 'on', 'on', 'on']);
});

test('the event of an order is listed once while a running transaction holds it back from others', async () => {
  const feed = createEventFeed(database, createWakeSignal());
  const holding = await beginLateEvent(testDatabase.url);
  const held = await beginLateEvent(testDatabase.url);
  try {
    await held.insert();
    await held.commit();
    const { rows } = await database.pool.query<{ orderId: StoredId<'ord'> }>(sql`
      select order_id as "orderId" from core.order_events where id = ${storedId('evt', held.eventId)}`);

    const first = await feed.list(beginning, 10, { ...rows[0] });
    const second = await feed.list(first.next, 10, { ...rows[0] });

    expect([first.events.length, second.events.length]).toEqual([1, 0]);
  } finally {
    await Promise.all([holding.end(), held.end()]);
  }
});

const reader = { owner: 'reader' };

/** The database, with a count of its running statements. */
function countedDatabase() {
  const { pool: own } = database;
  const pool = Object.create(own) as typeof own;
  const count = { readings: 0, running: 0, most: 0 };
  pool.query = (async (statement: QueryConfig) => {
    count.readings += 1;
    count.most = Math.max(count.most, (count.running += 1));
    return own.query(statement).finally(() => (count.running -= 1));
  }) as typeof pool.query;
  return { count, counted: { ...database, pool } };
}

test('the followers of a role read one at a time, however often others commit', async () => {
  const signal = createWakeSignal();
  const stop = new AbortController();
  const ringing = setInterval(signal.ring, 1);
  const { count, counted } = countedDatabase();
  counted.pool.options = { ...counted.pool.options, max: 12 };
  const feed = createEventFeed(counted, signal);
  const from = await feed.latest();
  const following = Array.from({ length: 5 }, async () => {
    for await (const { next } of feed.follow(from, {}, stop.signal, reader)) expect(next).toBeDefined();
  });
  try {
    await waitUntil('they have read', () => count.readings > 100);
    expect(count.most).toBe(1);
  } finally {
    clearInterval(ringing);
    stop.abort();
    await Promise.all(following);
  }
});

test('a follower that does not take the rest of its page lets others of its role read', async () => {
  const stop = new AbortController();
  const feed = createEventFeed(database, createWakeSignal());
  const readers = Array.from({ length: 3 }, () =>
    feed.follow(beginning, {}, stop.signal, reader)[Symbol.asyncIterator](),
  );
  try {
    const pages = await Promise.all(readers.map((each) => each.next()));
    expect(pages.map(({ done }) => done)).toEqual([false, false, false]);
  } finally {
    stop.abort();
    for (const each of readers) await each.return?.();
  }
});

/** The events that this session has read since its counts were last collected. */
async function eventsRead(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ read: string }>(`
    select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables
    where relid = 'core.order_events'::regclass`);
  return Number(rows[0]?.read);
}

test('reading new events does not read the earlier ones, even before statistics exist', async () => {
  const client = await database.pool.connect();
  try {
    await client.query('alter table core.order_events set (autovacuum_enabled = off)');
    await client.query(`
      insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
      select gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, gen_random_uuid(), 'CREATED', now(), '\\x00'
      from generate_series(1, 2000)`);
    const cursor = await latestCursor(client);
    await client.query('begin');
    const before = await eventsRead(client);

    const { events } = await readEvents(client, cursor, 10);

    expect(events).toEqual([]);
    expect((await eventsRead(client)) - before).toBeLessThan(10);
    await client.query('rollback');
  } finally {
    client.release();
  }
});
