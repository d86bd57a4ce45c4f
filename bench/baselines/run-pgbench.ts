import { join } from 'node:path';
import { capture } from '../load/run-wrk.ts';

export interface PgbenchRun {
  readonly databaseUrl: string;
  readonly script: 'insert-in-transaction' | 'insert-in-one-statement' | 'select-by-key';
  readonly clients: number;
  readonly seconds: number;
  /** As stored. */
  readonly merchantId: string;
  /** What a real registration's event holds, as \x and hexadecimal digits. */
  readonly payload: string;
  readonly seeded: number;
}

export interface PgbenchResult {
  readonly perSecond: number;
  /** pgbench gives no percentiles without a log of every transaction; the mean is what it says by itself. */
  readonly mean_ms: number;
}

/** PostgreSQL's own load generator in C, with prepared statements. @throws when pgbench fails */
export async function runPgbench(options: PgbenchRun): Promise<PgbenchResult> {
  const { clients, databaseUrl, merchantId, payload, script, seconds, seeded } = options;
  const output = await capture(
    'pgbench',
    [
      '--no-vacuum',
      '--protocol=prepared',
      `--client=${clients}`,
      `--jobs=${Math.min(2, clients)}`,
      `--time=${seconds}`,
      `--define=merchant=${merchantId}`,
      `--define=payload=${payload}`,
      `--define=seeded=${seeded}`,
      `--file=${join(import.meta.dirname, `${script}.sql`)}`,
      databaseUrl,
    ],
    { LC_ALL: 'C' },
  );
  const perSecond = Number(/^tps = ([0-9.]+)/m.exec(output)?.[1]);
  const mean_ms = Number(/^latency average = ([0-9.]+) ms/m.exec(output)?.[1]);
  if (!(perSecond > 0) || !(mean_ms > 0)) throw new Error(`pgbench printed no result:\n${output}`);
  return { perSecond, mean_ms };
}
