import type { PinnedConnection } from './pinned-connection.ts';

/** Merchants come and go by the ten thousand; the connections kept to them do not. */
const maxIdle = 512;
/** So that a name's new address is used soon, however busy the connection to the old one is. */
const maxAgeMs = 60_000;

/** A connection and what decides who may have it next, and for how long. */
export interface PooledConnection {
  readonly connection: PinnedConnection;
  readonly key: string;
  readonly openedAt: Date;
}

/** Connections that have carried a request and may carry another. Each leaves by itself when it is closed. */
export class ConnectionPool {
  readonly #now: () => Date;
  /** Idle ones by key; in each set, and in all, the one that was used last is last. */
  readonly #byKey = new Map<string, Set<PooledConnection>>();
  readonly #all = new Map<PinnedConnection, PooledConnection>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** An idle connection of this key, which is nobody else's then. The one used last is the least likely to be gone. */
  take(key: string): PooledConnection | undefined {
    const kept = [...(this.#byKey.get(key) ?? [])].at(-1);
    if (kept !== undefined) this.remove(kept.connection);
    return kept;
  }

  /** Keeps a connection for later; closes it when it is too old, and the one unused for longest when there are too many. */
  give(kept: PooledConnection): void {
    if (!kept.connection.isOpen) return;
    if (this.#now().getTime() - kept.openedAt.getTime() > maxAgeMs) {
      kept.connection.destroy();
      return;
    }
    const [oldest] = this.#all.size >= maxIdle ? this.#all.keys() : [];
    if (oldest !== undefined) this.#drop(oldest);
    this.#all.set(kept.connection, kept);
    const ofKey = this.#byKey.get(kept.key) ?? new Set();
    this.#byKey.set(kept.key, ofKey.add(kept));
  }

  /** Forgets a connection, if it knows it. */
  remove(connection: PinnedConnection): void {
    const kept = this.#all.get(connection);
    if (kept === undefined) return;
    this.#all.delete(connection);
    const ofKey = this.#byKey.get(kept.key);
    ofKey?.delete(kept);
    if (ofKey?.size === 0) this.#byKey.delete(kept.key);
  }

  /** Closes all that it holds. */
  close(): void {
    for (const connection of [...this.#all.keys()]) this.#drop(connection);
  }

  #drop(connection: PinnedConnection): void {
    this.remove(connection);
    connection.destroy();
  }
}
