import { Socket } from 'node:net';
import type { Pool, PoolClient } from 'pg';

/** Lets this connection be silent for as long as it likes, until it is given back to its pool. */
export function allowSilence({ connection }: PoolClient): void {
  if (connection.stream instanceof Socket) connection.stream.setTimeout(0);
}

/**
 * Closes connections in use on which nothing has moved for `silenceMs`: a network or a host that is lost says nothing,
 * and a statement would wait for its answer for a quarter of an hour or for ever. Longer than any statement may take.
 */
export function closeSilentConnections(pool: Pool, silenceMs: number): void {
  pool.on('connect', ({ connection: { stream } }) => {
    stream.on('timeout', () => stream.destroy(silenceError(silenceMs)));
  });
  pool.on('acquire', ({ connection: { stream } }) => {
    if (stream instanceof Socket) stream.setTimeout(silenceMs);
  });
  pool.on('release', (_error, client) => allowSilence(client));
}

const silenceError = (silenceMs: number): Error =>
  Object.assign(new Error(`the database has been silent for ${silenceMs} ms`), { code: 'ETIMEDOUT' });
