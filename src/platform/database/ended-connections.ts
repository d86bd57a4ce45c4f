import type { Pool, PoolClient } from 'pg';

/**
 * Takes back connections that end while they are in use. A pool detects their end only when the holder releases them.
 * Kysely's transactions never release a connection on which BEGIN or ROLLBACK failed, so it would stay in the pool until
 * the process exits (docs/adr/0017). A later release by the holder has no effect.
 */
export function takeBackEnded(pool: Pool): void {
  const inUse = new WeakSet<PoolClient>();
  pool.on('acquire', (client) => void inUse.add(client));
  pool.on('release', (_error, client) => void inUse.delete(client));
  pool.on('connect', (client) => {
    client.once('end', () => {
      if (!inUse.has(client)) return;
      client.release(new Error('the connection ended while it was in use'));
      // A second release would throw in the pool. The pool never reuses an ended client, so this override can stay.
      client.release = () => undefined;
    });
  });
}
