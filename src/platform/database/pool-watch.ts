import { Gauge } from 'prom-client';
import type { Pool, PoolClient } from 'pg';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { connectionRefused, isConnectionRefused, isDiskFull } from './explain-error.ts';

/** The state of a pool's connections at one moment. */
export interface PoolState {
  /** The largest number of connections. */
  readonly size: number;
  /** Connections that code holds, or that are being made. */
  readonly inUse: number;
  readonly idle: number;
  /** Connections that have ended and still count as in use. Always 0: the pool takes them back (docs/adr/0017). */
  readonly ended: number;
  /** The number of callers that wait for a connection. */
  readonly waiting: number;
  /** The time since the pool last provided a connection. In a working pool it is about a second at most. */
  readonly sinceGivenMs: number;
  /** The server's latest error about a full disk; undefined if the last minute had none. */
  readonly diskFull: string | undefined;
}

export interface PoolWatch {
  readonly state: () => PoolState;
  /** Whether the pool has provided a connection within the last ten seconds. */
  readonly isServing: () => boolean;
  readonly stop: () => void;
}

export interface PoolWatchOptions {
  readonly logger: Pick<Logger, 'info' | 'error'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

const checkIntervalMs = 1_000;
/** Longer than a restart of PostgreSQL, and twice the time that callers wait for a connection. */
export const toleratedSilenceMs = 10_000;
/** How long a full disk is assumed after an error. Every process writes more often than that. */
const diskFullForMs = 60_000;

/** Watches a pool. It acquires a connection once a second, so that it also detects the state of an idle pool. */
export function watchPool(pool: Pool, { logger, nowMs }: PoolWatchOptions): PoolWatch {
  // Connections that callers hold. A released one that ends does not count, even before the pool reports its removal.
  const held = new Set<PoolClient>();
  let givenAtMs = nowMs();
  let isTaking = false;
  /** The last connection before an outage that was logged. */
  let outageSinceMs: number | undefined;
  let lastError: unknown;
  let diskFull: { readonly message: string; readonly atMs: number } | undefined;
  pool.on('connect', ({ connection }) => {
    connection.on('errorMessage', (error: { readonly code?: unknown; readonly message: string }) => {
      if (isDiskFull(error)) diskFull = { message: error.message, atMs: nowMs() };
    });
  });
  pool.on('release', (_error, client) => void held.delete(client));
  pool.on('acquire', (client) => {
    held.add(client);
    givenAtMs = nowMs();
  });

  const state = (): PoolState => {
    const ended = [...held].filter(({ connection }) => connection.stream.destroyed).length;
    return {
      size: pool.options.max,
      inUse: Math.max(0, pool.totalCount - pool.idleCount - ended),
      idle: pool.idleCount,
      ended,
      waiting: pool.waitingCount,
      sinceGivenMs: nowMs() - givenAtMs,
      diskFull:
        diskFull !== undefined && nowMs() - diskFull.atMs < diskFullForMs ? diskFull.message : undefined,
    };
  };
  const isServing = (): boolean => nowMs() - givenAtMs < toleratedSilenceMs;

  const logChange = (): void => {
    if (isServing()) {
      if (outageSinceMs === undefined) return;
      const duration_ms = Math.round(givenAtMs - outageSinceMs);
      outageSinceMs = undefined;
      logger.info(
        { ...state(), duration_ms },
        'connections to the database are available again; this process is ready',
      );
    } else if (outageSinceMs === undefined) {
      outageSinceMs = givenAtMs;
      logger.error(
        { ...state(), err: lastError },
        isConnectionRefused(lastError)
          ? connectionRefused()
          : 'no connection to the database is available; this process is not ready until there is one',
      );
    }
  };
  const takeOne = async (): Promise<void> => {
    if (isTaking) return;
    isTaking = true;
    await pool.connect().then(
      (client) => {
        lastError = undefined;
        client.release();
      },
      (error: unknown) => (lastError = error),
    );
    isTaking = false;
  };
  const timer = setInterval(() => {
    logChange();
    void takeOne();
  }, checkIntervalMs).unref();
  return { state, isServing, stop: () => clearInterval(timer) };
}

/** Shows the pool's connections. */
export function addPoolMetrics({ registry }: Metrics, { state }: Pick<PoolWatch, 'state'>): void {
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_database_pool_connections',
    help: 'Connections to PostgreSQL: in_use, idle, or ended but still counted (always 0 without a defect).',
    labelNames: ['state'],
    registers,
    collect() {
      const { inUse, idle, ended } = state();
      this.set({ state: 'in_use' }, inUse);
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'ended' }, ended);
    },
  });
  const addGauge = (name: string, help: string, read: (now: PoolState) => number): void => {
    new Gauge({
      name: `gatehouse_database_pool_${name}`,
      help,
      registers,
      collect() {
        this.set(read(state()));
      },
    });
  };
  addGauge('size', 'Connections to PostgreSQL that this process may have.', ({ size }) => size);
  addGauge('waiting', 'Work of this process that waits for a connection.', ({ waiting }) => waiting);
  addGauge(
    'silence_seconds',
    'Seconds since the pool last gave a connection. At 10 or more, the process is not ready.',
    ({ sinceGivenMs }) => sinceGivenMs / 1000,
  );
}
