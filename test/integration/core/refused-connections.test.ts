import { randomBytes } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { explainDatabaseError } from '../../../src/platform/database/explain-error.ts';
import { watchPool } from '../../../src/platform/database/pool-watch.ts';
import { sharedConnection, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sharedServers } from '../../support/servers.ts';
import { waitUntil } from '../../support/wait-until.ts';

const server = sharedTestDatabase();
const admin = sharedConnection(() => sharedServers().postgresUrl);
const advice =
  /^PostgreSQL refuses the connections of this process; check the user, .* in its GATEHOUSE_DATABASE_URL/;

/** A connection that PostgreSQL ends meanwhile is an error of the pool. */
function openPool(options: pg.PoolConfig): pg.Pool {
  return new pg.Pool(options).on('error', () => undefined);
}

let role: string;
let database: string;
let pool: pg.Pool;

beforeEach(async () => {
  role = `role_${randomBytes(8).toString('hex')}`;
  await admin.query(`create role ${role} login password 'first'`);
  const url = new URL(server.url);
  database = url.pathname.slice(1);
  url.username = role;
  url.password = 'first';
  pool = openPool({ connectionString: url.href, max: 1 });
  await pool.query('select 1');
});

afterEach(async () => {
  await pool.end();
  await admin.query(`drop role ${role}`);
});

/** Each change, and how it is undone. Open connections end meanwhile, as after a restart of PostgreSQL. */
const changes: Readonly<Record<string, () => readonly [change: string, undo: string]>> = {
  'another password': () => [`alter role ${role} password 'second'`, `alter role ${role} password 'first'`],
  'a role without login': () => [`alter role ${role} nologin`, `alter role ${role} login`],
  'a renamed database': () => [
    `alter database ${database} rename to ${database}_old`,
    `alter database ${database}_old rename to ${database}`,
  ],
  'a database that allows no connections': () => [
    `alter database ${database} allow_connections false`,
    `alter database ${database} allow_connections true`,
  ],
  'a database that others may not connect to': () => [
    `revoke connect on database ${database} from public`,
    `grant connect on database ${database} to public`,
  ],
};

test.each(Object.keys(changes))(
  'after %s, calls and the log say what to check, and the pool recovers',
  async (name) => {
    const [change, undo] = changes[name]!();
    const lines: string[] = [];
    const tell = (_state: unknown, message?: string): void => void lines.push(message ?? '');
    await pool.end();
    pool = openPool(pool.options);
    await admin.query(change);
    let skippedMs = 0;
    let readings = 0;
    const watch = watchPool(pool, {
      logger: { info: tell, error: tell },
      nowMs: () => {
        readings += 1;
        return performance.now() + skippedMs;
      },
    });

    await waitUntil('the watch asks for the only connection', () => readings > 1);
    const error = await pool.query('select 1').catch(explainDatabaseError);
    skippedMs += 20_000;
    await waitUntil('the log names it', () => lines.length > 0);
    await admin.query(undo);
    await waitUntil('the log names the recovery', () => lines.length > 1);
    watch.stop();

    expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: expect.stringMatching(advice) });
    expect(lines).toEqual([
      expect.stringMatching(advice),
      'connections to the database are available again; this process is ready',
    ]);
  },
);
