import { sharedServers } from './servers.ts';
import { queryOnce } from './database-connections.ts';

/** Loses a database of the shared server: the one of this URL is deleted, and a new empty one has its name. */
export async function loseDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const { postgresUrl } = sharedServers();
  await queryOnce(postgresUrl, `drop database ${name} with (force)`);
  await queryOnce(postgresUrl, `create database ${name}`);
}
