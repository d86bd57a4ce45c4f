import { connect } from 'nats';

/**
 * Whether the broker's store answers. When the store of nats-server 2.9 hangs, for example after its disk was full, its connections and its
 * port stay open. Its own health check still says "ok".
 */
export async function storeAnswers(url: string, timeoutMs: number): Promise<boolean> {
  const { host, username, password } = new URL(url);
  try {
    const connection = await connect({
      servers: host,
      user: decodeURIComponent(username),
      pass: decodeURIComponent(password),
      reconnect: false,
      timeout: timeoutMs,
    });
    try {
      await connection.request('$JS.API.INFO', '', { timeout: timeoutMs });
      return true;
    } finally {
      await connection.close();
    }
  } catch {
    return false;
  }
}
