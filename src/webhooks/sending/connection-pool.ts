import type { PinnedConnection } from './pinned-connection.ts';

/** Limits the idle connections, because there may be tens of thousands of merchants. */
const maxIdle = 512;
/** Limits a connection's age, so that a changed DNS record takes effect soon. */
const maxAgeMs = 60_000;

/** A connection with its pool key and the instant of the monotonic clock when it was opened. */
export interface PooledConnection {
  readonly connection: PinnedConnection;
  readonly key: string;
  readonly openedAtMs: number;
}

/** Idle connections that can carry another request. A connection leaves the pool when it closes. */
export class ConnectionPool {
  readonly #monotonicMs: () => number;
  /** Idle connections by key. The most recently used one is last in each set, and in `#all`. */
  readonly #byKey = new Map<string, Set<PooledConnection>>();
  readonly #all = new Map<PinnedConnection, PooledConnection>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Removes and returns an idle connection of this key. The most recently used one is the least likely to be closed. */
  take(key: string): PooledConnection | undefined {
    const pooled = [...(this.#byKey.get(key) ?? [])].at(-1);
    if (pooled !== undefined) this.remove(pooled.connection);
    return pooled;
  }

  /** Keeps a connection for reuse. Closes it if it is too old. Closes the least recently used one if there are too many. */
  give(pooled: PooledConnection): void {
    if (!pooled.connection.isOpen) return;
    if (this.#monotonicMs() - pooled.openedAtMs > maxAgeMs) {
      pooled.connection.destroy();
      return;
    }
    const [oldest] = this.#all.size >= maxIdle ? this.#all.keys() : [];
    if (oldest !== undefined) this.#drop(oldest);
    this.#all.set(pooled.connection, pooled);
    const ofKey = this.#byKey.get(pooled.key) ?? new Set();
    this.#byKey.set(pooled.key, ofKey.add(pooled));
  }

  /** Removes a connection, if present. */
  remove(connection: PinnedConnection): void {
    const pooled = this.#all.get(connection);
    if (pooled === undefined) return;
    this.#all.delete(connection);
    const ofKey = this.#byKey.get(pooled.key);
    ofKey?.delete(pooled);
    if (ofKey?.size === 0) this.#byKey.delete(pooled.key);
  }

  /** Closes all idle connections. */
  close(): void {
    for (const connection of this.#all.keys()) this.#drop(connection);
  }

  #drop(connection: PinnedConnection): void {
    this.remove(connection);
    connection.destroy();
  }
}
