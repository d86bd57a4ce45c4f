import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { checkText } from '../../../src/contract/check-text.ts';
import type { Database } from '../../../src/core/database/database.ts';
import { migrateWhenReachable } from '../../../src/main/migrate-when-reachable.ts';
import { startInline } from '../../support/inline-process.ts';
import { keptLog } from '../../support/kept-log.ts';
import {
  openCoreDatabase,
  sharedConnection,
  sharedStack,
  sharedTestDatabase,
} from '../../support/shared-stack.ts';
import { startSharingPooler } from '../../support/sharing-pooler.ts';
import type { Turn } from '../../support/sharing-pooler.ts';
import { checkOfDatabase } from './doctor-checks.ts';

const stack = sharedStack({ facades: 0 });
const empty = sharedTestDatabase({ migrated: false });
const admin = sharedConnection(() => empty.url);

const refusal = 'set pool_mode = session';
const turns = ['last used', 'longest idle'] as const;

async function withPooler(turn: Turn, use: (url: string) => Promise<void>): Promise<void> {
  const url = new URL(stack.databaseUrl);
  const pooler = await startSharingPooler({ host: url.hostname, port: Number(url.port) }, turn);
  url.host = `127.0.0.1:${pooler.port}`;
  try {
    await use(url.href);
  } finally {
    await pooler.close();
  }
}

/** The finding of doctor about the database. */
const detailOf = async (database: Database) => checkText(await checkOfDatabase(database)).detail;

const withDatabase = async (
  url: string,
  use: (database: Database) => Promise<void>,
  poolSize = 2,
): Promise<void> => {
  const database = await openCoreDatabase('pooled', url, poolSize);
  try {
    await use(database);
  } finally {
    await database.close();
  }
};

test.each(['core', 'webhooks'])('%s does not start behind a pooler that shares sessions', (name) =>
  withPooler('last used', async (url) => {
    const settings = name === 'core' ? stack.coreSettings : stack.webhookSettings;
    await expect(startInline(name, { ...settings, GATEHOUSE_DATABASE_URL: url })).rejects.toThrow(refusal);
  }),
);

/** PostgreSQL's message ErrorResponse (54.7), with the words of PgBouncer. */
function refusedSetting(): Buffer {
  const fields = 'SFATAL\0C08P01\0Munsupported startup parameter: statement_timeout\0\0';
  const header = Buffer.from([...Buffer.from('E'), 0, 0, 0, 4 + fields.length]);
  return Buffer.concat([header, Buffer.from(fields)]);
}

test('a pooler that refuses settings is named at the first try', async () => {
  const pooler = createServer((client) => {
    client.on('error', () => client.destroy());
    client.once('data', () => client.end(refusedSetting()));
  });
  pooler.listen(0, '127.0.0.1');
  await once(pooler, 'listening');
  const url = new URL(empty.url);
  url.host = `127.0.0.1:${(pooler.address() as AddressInfo).port}`;
  const { logger, log } = keptLog({ level: 'warn' });

  await withDatabase(url.href, (database) =>
    expect(migrateWhenReachable(database, logger)).rejects.toThrow('let it ignore them'),
  ).finally(() => pooler.close());

  expect(log).toEqual([]);
});

test.each(turns)('nothing is migrated through a pooler that gives the session that is %s', (turn) =>
  withPooler(turn, (url) =>
    withDatabase(url, async (database) => {
      await expect(database.migrate()).rejects.toThrow(refusal);
    }),
  ),
);

test.each(turns)('doctor names a pooler that gives the session that is %s', (turn) =>
  withPooler(turn, (url) =>
    withDatabase(url, async (database) => {
      expect(await detailOf(database)).toContain(refusal);
    }),
  ),
);

test('doctor finds no pooler in front of a database without one', () =>
  withDatabase(stack.databaseUrl, async (database) => {
    expect(await detailOf(database)).not.toContain(refusal);
  }));

test.each(["set DateStyle = 'SQL, DMY'", 'set statement_timeout = 0'])(
  'doctor says that a pooler drops the settings of sessions: %s',
  (change) =>
    withDatabase(
      stack.databaseUrl,
      async (database) => {
        const before = await detailOf(database);
        await database.pool.query(change);

        expect(before).not.toContain('lack the settings');
        expect(await detailOf(database)).toContain('PgBouncer ignores them');
      },
      1,
    ),
);

/** A pooler that has another name for a database. Both names have the same length. */
async function startRenamingPooler(target: URL, alias: string, name: string) {
  const listener = createServer((client) => {
    const session = connect(Number(target.port), target.hostname);
    client.once('data', (startup) => {
      session.write(Buffer.from(startup.toString('latin1').replace(alias, name), 'latin1'));
      client.pipe(session).pipe(client);
    });
    for (const socket of [client, session]) socket.on('error', () => socket.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return { port: (listener.address() as AddressInfo).port, close: () => listener.close() };
}

test('a pooler may have a name of its own for the database', async () => {
  const url = new URL(empty.url);
  const name = url.pathname.slice(1);
  const alias = name.toUpperCase();
  const pooler = await startRenamingPooler(new URL(empty.url), alias, name);
  url.host = `127.0.0.1:${pooler.port}`;
  url.pathname = alias;
  await withDatabase(url.href, async (database) => {
    const pending = await database.pendingMigrations();
    await database.migrate();
    expect(pending.length).toBeGreaterThan(0);
    expect(await database.pendingMigrations()).toEqual([]);
  }).finally(pooler.close);
  const { rows } = await admin.query('select from pg_database where datname = $1', [alias]);
  expect(rows).toEqual([]);
});
