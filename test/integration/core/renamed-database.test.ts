import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { openCoreDatabase, sharedConnection, sharedTestDatabase } from '../../support/shared-stack.ts';

const server = sharedTestDatabase({ migrated: false });
const admin = sharedConnection(() => server.url);

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
  const url = new URL(server.url);
  const name = url.pathname.slice(1);
  const alias = name.toUpperCase();
  const pooler = await startRenamingPooler(new URL(server.url), alias, name);
  url.host = `127.0.0.1:${pooler.port}`;
  url.pathname = alias;
  const database = await openCoreDatabase('renamed', url.href, 2);
  try {
    const pending = await database.pendingMigrations();
    await database.migrate();
    expect(pending.length).toBeGreaterThan(0);
    expect(await database.pendingMigrations()).toEqual([]);
  } finally {
    await database.close();
    pooler.close();
  }
  const { rows } = await admin.query('select from pg_database where datname = $1', [alias]);
  expect(rows).toEqual([]);
});
