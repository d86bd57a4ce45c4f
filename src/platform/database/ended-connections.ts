import type { Pool, PoolClient } from 'pg';

/**
 * Takes back connections that end while they are in use. A pool only learns of their end when their holder releases them,
 * and Kysely's transactions never release one on which BEGIN or ROLLBACK failed: each would fill a place in the pool until
 * the process ends (docs/adr/0017). A holder that releases such a connection later does no harm.
 */
export function takeBackEnded(pool: Pool): void {
  const inUse = new WeakSet<PoolClient>();
  pool.on('acquire', (client) => void inUse.add(client));
  pool.on('release', (_error, client) => void inUse.delete(client));
  pool.on('connect', (client) => {
    client.once('end', () => {
      if (!inUse.has(client)) return;
      client.release(new Error('the connection ended while it was in use'));
      // The pool throws at a second release. It never hands an ended client out again, so this stays.
      client.release = () => undefined;
    });
  });
}
