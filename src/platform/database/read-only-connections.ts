import type { Pool, PoolClient } from 'pg';

/** SQLSTATE of a write in a read-only transaction: on a standby, or where `default_transaction_read_only` is on. */
const readOnlyState = '25006';

/**
 * Closes connections that refused a write because the server is read-only, as soon as they are released. After a failover, a
 * pool may have connected to the old primary, which is a standby by then. Its connections never end by themselves. A new
 * connection reaches the server that the address names now, and has its settings.
 */
export function closeReadOnlyConnections(pool: Pool): void {
  const refusing = new WeakSet<PoolClient>();
  pool.on('connect', (client) => {
    client.connection.on('errorMessage', ({ code }: { readonly code?: string }) => {
      if (code === readOnlyState) refusing.add(client);
    });
  });
  // The pool does not keep a client that is ending.
  pool.on('release', (_error, client) => {
    if (refusing.has(client)) void client.end();
  });
}
