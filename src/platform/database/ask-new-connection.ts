import pg from 'pg';
import type { Pool } from 'pg';
import pTimeout from 'p-timeout';
import { isWithoutConnections } from './explain-error.ts';

const withinMs = 2_000;

/**
 * Runs `ask` on a new connection with the options of a pool, and closes it. Open connections still work while the server accepts no new
 * ones, for example because its main process has stopped responding. A process that gets more work needs new ones.
 * @returns undefined if all connections of the server are in use
 * @throws the server's refusal, and an error that says what to do if it does not answer
 */
export async function askNewConnection<Answer>(
  { options }: Pool,
  ask: (client: pg.Client) => Promise<Answer>,
): Promise<Answer | undefined> {
  const client = new pg.Client(options);
  // Without a listener, an error after the wait would end the process.
  client.on('error', () => undefined);
  try {
    await pTimeout(client.connect(), {
      milliseconds: withinMs,
      message:
        'PostgreSQL answers on open connections, but has not accepted a new one within 2 s: check the load of its machine and of this one, and read its log. If it has stopped responding, restart it',
    });
    return await ask(client);
  } catch (error) {
    // All connections are in use. The server answers.
    if (!isWithoutConnections(error as { readonly code?: unknown })) throw error;
    return undefined;
  } finally {
    void client.end().catch(() => undefined);
  }
}
