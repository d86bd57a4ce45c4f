import type { Pool, PoolClient } from 'pg';

/** The error fields that PostgreSQL sends about a failed statement. */
interface ServerError {
  /** The SQLSTATE. */
  readonly code?: unknown;
  /** The function of PostgreSQL that failed, which is the same in every language of messages. */
  readonly routine?: unknown;
}

/**
 * Whether a server refused a statement because it is read-only. SQLSTATE 25006 is a write on a standby, or where
 * `default_transaction_read_only` is on. An unlogged table cannot even be read on a standby: that is a 0A000, and the only one of
 * PostgreSQL's function `get_relation_info`.
 */
export const isReadOnlyRefusal = ({ code, routine }: ServerError): boolean =>
  code === '25006' || (code === '0A000' && routine === 'get_relation_info');

/**
 * Closes connections that refused a statement because the server is read-only, as soon as they are released. After a failover, a
 * pool may have connected to the old primary, which is a standby by then. Its connections never end by themselves. A new
 * connection reaches the server that the address names now, and has its settings.
 */
export function closeReadOnlyConnections(pool: Pool): void {
  const refusing = new WeakSet<PoolClient>();
  pool.on('connect', (client) => {
    client.connection.on('errorMessage', (error: ServerError) => {
      if (isReadOnlyRefusal(error)) refusing.add(client);
    });
  });
  // The pool does not keep a client that is ending.
  pool.on('release', (_error, client) => {
    if (refusing.has(client)) void client.end();
  });
}
