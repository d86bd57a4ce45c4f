import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { databaseUrl, sharedServers, templateDatabase } from './servers.ts';

export interface TestDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

let superuser: pg.Pool | undefined;

/** All test files of a worker share these connections: each costs as much as the deletion of half a database. */
async function asSuperuser(sql: string): Promise<void> {
  if (superuser === undefined) {
    superuser = new pg.Pool({
      connectionString: sharedServers().postgresUrl,
      max: 2,
      idleTimeoutMillis: 0,
      allowExitOnIdle: true,
    });
    // The server may stop before the worker does.
    superuser.on('error', () => undefined);
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
