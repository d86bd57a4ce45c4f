import { Socket } from 'node:net';
import type { Pool, PoolClient } from 'pg';

/** Sets another limit on silence for this connection, until it returns to its pool; 0 for none. */
export function allowSilence({ connection }: PoolClient, limitMs = 0): void {
  if (connection.stream instanceof Socket) connection.stream.setTimeout(limitMs);
}

/**
 * Closes connections in use that have transferred nothing for `silenceMs`. A lost network or host sends no error, so a
 * statement would wait a quarter of an hour or for ever. `silenceMs` must be longer than any statement may take.
 */
export function closeSilentConnections(pool: Pool, silenceMs: number): void {
  pool.on('connect', ({ connection: { stream } }) => {
    stream.on('timeout', () =>
      stream.destroy(silenceError(stream instanceof Socket ? (stream.timeout ?? silenceMs) : silenceMs)),
    );
  });
  pool.on('acquire', ({ connection: { stream } }) => {
    if (stream instanceof Socket) stream.setTimeout(silenceMs);
  });
  pool.on('release', (_error, client) => allowSilence(client));
}

const silenceError = (silenceMs: number): Error =>
  Object.assign(new Error(`the database has been silent for ${silenceMs} ms`), { code: 'ETIMEDOUT' });
