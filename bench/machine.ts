import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { capture } from './load/capture.ts';

/** The facts without which the figures mean nothing. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  /** Syncs per second of one writer that waits for each sync of 8 kB. One connection cannot have more commits. */
  readonly diskSyncsPerSecond: number;
  readonly node: string;
  readonly generators: string;
  /** By name, as the running server has them. */
  readonly postgres: Readonly<Record<string, string>>;
  /** The load of the machine at the beginning of the measurement. */
  readonly loadAverage: number;
}

const tmpfsType = 0x01021994;
const syncForMs = 1_000;

/** @throws when the data would be in memory, where a sync costs nothing */
export async function describeMachine(postgres: Readonly<Record<string, string>>): Promise<Machine> {
  const { type } = await statfs(tmpdir());
  if (type === tmpfsType)
    throw new Error(`${tmpdir()} is in memory: set TMPDIR to a folder on a disk, for durability is measured`);
  const version = async (program: string, args: readonly string[]): Promise<string> =>
    (await capture('bash', ['-c', '"$@" 2>&1 | head -1', 'version', program, ...args])).trim();
  const wrk = (await version('wrk', ['-v'])).replace(/ \[.*/, '');
  return {
    cpu: cpus()[0]?.model.trim() ?? '',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    diskSyncsPerSecond: measureSyncs(),
    node: process.version,
    generators: `${wrk}, ${await version('pgbench', ['--version'])}`,
    postgres,
    loadAverage: loadavg()[0] ?? Number.NaN,
  };
}

/** Like pg_test_fsync with fdatasync, which PostgreSQL uses on Linux. */
function measureSyncs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sync-'));
  const file = openSync(join(folder, 'file'), 'w');
  try {
    const page = Buffer.alloc(8192, 1);
    writeSync(file, Buffer.alloc(16 * 1024 * 1024, 1), 0, undefined, 0);
    fdatasyncSync(file);
    const begun = performance.now();
    let syncs = 0;
    while (performance.now() - begun < syncForMs) {
      writeSync(file, page, 0, page.length, (syncs % 2000) * page.length);
      fdatasyncSync(file);
      syncs += 1;
    }
    return Math.round((syncs * 1000) / (performance.now() - begun));
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}
