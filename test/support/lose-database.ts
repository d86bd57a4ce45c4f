import pg from 'pg';
import { sharedServers } from './servers.ts';

/** Loses a database of the shared server: the one of this URL is deleted, and a new empty one has its name. */
export async function loseDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const client = new pg.Client({ connectionString: sharedServers().postgresUrl });
  await client.connect();
  try {
    await client.query(`drop database ${name} with (force)`);
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
}
