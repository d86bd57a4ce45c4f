import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { databaseUrl, sharedServers, templateDatabase } from './servers.ts';

export interface TestDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

/** By the URL of the server: a benchmark starts one after the other. */
const superusers = new Map<string, pg.Pool>();

/** All test files of a worker share these connections: each costs as much as the deletion of half a database. */
async function asSuperuser(sql: string): Promise<void> {
  const { postgresUrl } = sharedServers();
  const superuser =
    superusers.get(postgresUrl) ??
    new pg.Pool({ connectionString: postgresUrl, max: 2, idleTimeoutMillis: 0, allowExitOnIdle: true });
  if (!superusers.has(postgresUrl)) {
    // The server may stop before the worker does.
    superuser.on('error', () => undefined);
    superusers.set(postgresUrl, superuser);
  }
  await superuser.query(sql);
}

/** A new migrated database: a copy of the template, made in a fraction of a second. */
export async function createTestDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asSuperuser(
    `create database ${name} ${migrated ? `template ${templateDatabase} strategy file_copy` : ''}`,
  );
  return {
    url: databaseUrl(sharedServers().postgresUrl, name),
    drop: () => asSuperuser(`drop database if exists ${name} with (force)`),
  };
}
