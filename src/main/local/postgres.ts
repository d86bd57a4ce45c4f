import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exitWithParent } from './exit-with-parent.ts';
import type { PostgresHome } from './postgres-home.ts';
import { readIfThere } from './private-file.ts';
import { StartError } from './start-error.ts';
import type { ProcessSpec } from './supervisor.ts';

export interface PostgresOptions {
  readonly home: PostgresHome;
  readonly port: number;
  readonly password: string;
  /** Added to the environment, so that a later start recognises the process. */
  readonly marker: Readonly<Record<string, string>>;
  /** False trades durability for speed, for temporary data. */
  readonly durable: boolean;
  /** Overrides of the default settings. None of them may concern durability. */
  readonly settings?: Readonly<Record<string, string>>;
}

const superuser = 'gatehouse';
const database = 'gatehouse';
const host = '127.0.0.1';
const stopTimeoutMs = 2_500;
/**
 * After a crash, PostgreSQL first repeats up to 2 GB of changes, which takes minutes on a busy machine. If it were ended meanwhile, it
 * would begin again, and never be ready. If it cannot start, it exits by itself.
 */
const readyTimeoutMs = 60 * 60_000;

/** The URL for clients. */
export const databaseUrl = ({ port, password }: Pick<PostgresOptions, 'port' | 'password'>): string =>
  `postgres://${superuser}:${encodeURIComponent(password)}@${host}:${port}/${database}`;

/** Contains nothing of the caller's environment. PG* variables and locales would change the programs' behaviour. */
const environment = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' };

/**
 * All settings that differ from PostgreSQL's defaults, with their reasons. Durability keeps its defaults: fsync, full
 * pages, synchronous commit.
 */
const settings = {
  listen_addresses: host,
  // TCP only. A socket would need one more folder that several users can access.
  unix_socket_directories: '',
  // The working set of a busy shop on a machine with a few GB.
  shared_buffers: '256MB',
  // Orders are many small commits. Fewer checkpoints write fewer full pages. The price is a longer start after a crash (`readyTimeoutMs`).
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  // For solid-state disks. JIT compilation never pays off for lookups by key.
  random_page_cost: '1.1',
  jit: 'off',
  // All queries are short. A transaction idle for a minute is a defect, and would hold back vacuum.
  idle_in_transaction_session_timeout: '60s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // A failed statement and its details contain phones, which no log may have. The error itself is logged.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

const volatileSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

async function runProgram(
  home: PostgresHome,
  program: string,
  args: readonly string[],
  input = '',
): Promise<void> {
  const child = spawn(join(home.programs, 'bin', program), args, {
    env: environment,
    cwd: '/',
    ...home.user,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.on('error', () => undefined); // It ended before reading: its exit code and output say why.
  child.stdin.end(input);
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : (signal ?? `exit code ${code}`)));
  });
  if (failure !== undefined)
    throw new StartError(`PostgreSQL's ${program} failed (${failure}):\n${output.trim()}`);
}

/**
 * Creates the database cluster atomically. Its encoding is UTF-8 with PostgreSQL's own C.UTF-8 collation, so the sort
 * order does not depend on the C library.
 */
async function createCluster(home: PostgresHome, password: string): Promise<void> {
  const draft = `${home.data}.draft`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(dirname(home.data), { recursive: true });
  if (home.user !== undefined) await chmod(dirname(home.data), 0o711);
  await mkdir(draft, { mode: 0o700 });
  const passwordFile = `${home.data}.password`;
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  try {
    if (home.user !== undefined) {
      for (const path of [draft, passwordFile]) await chown(path, home.user.uid, home.user.gid);
    }
    const login = ['--username', superuser, '--auth', 'scram-sha-256', '--pwfile', passwordFile];
    const locale = [
      '--encoding',
      'UTF8',
      '--locale',
      'C',
      '--locale-provider',
      'builtin',
      '--builtin-locale',
      'C.UTF-8',
    ];
    await runProgram(home, 'initdb', ['--pgdata', draft, ...login, ...locale]);
    await runProgram(
      home,
      'postgres',
      ['--single', '-D', draft, 'postgres'],
      `CREATE DATABASE ${database}\n`,
    );
    await rename(draft, home.data);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * After a crash, PostgreSQL ignores its pid file, unless another process of the same user now has that pid. In
 * containers this happens soon. That process is not a PostgreSQL on this folder, because those have been ended.
 */
async function removeMisleadingPidFile(data: string): Promise<void> {
  const path = join(data, 'postmaster.pid');
  const pid = Number.parseInt((await readIfThere(path)) ?? '', 10);
  if (isAlive(pid)) await rm(path);
}

/** Checks like pg_ctl: the postmaster writes its state into line 8 of its pid file. */
async function isReady(data: string, pid: number): Promise<boolean> {
  const lines = ((await readIfThere(join(data, 'postmaster.pid'))) ?? '').split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

/** The problem of a lost data folder. With an empty database instead, the gateway would seem to work, without any of its orders. */
const lostData = (data: string): string =>
  `its data folder ${data} is gone. Put it back, for example by mounting its disk, or stop Gatehouse and restore a backup: docs/operating/backup.md`;

/**
 * An embedded PostgreSQL with one database, on the loopback address only, with a password. No other process may use its
 * data (see `endLeftovers`). Only its first start creates the data.
 */
export function postgresProcess(options: PostgresOptions): ProcessSpec {
  const { home, port } = options;
  const durability = options.durable ? {} : volatileSettings;
  const all = { ...settings, ...options.settings, ...durability, port: String(port) };
  const args = [
    '-D',
    home.data,
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  let hadData = false;
  return {
    name: 'postgres',
    address: `${host}:${port}`,
    prepare: async () => {
      if (existsSync(home.data)) await removeMisleadingPidFile(home.data);
      else if (hadData) throw new StartError(lostData(home.data));
      else await createCluster(home, options.password);
      hadData = true;
    },
    ...exitWithParent('SIGINT', join(home.programs, 'bin', 'postgres'), args),
    env: { ...environment, ...options.marker },
    cwd: '/',
    user: home.user,
    isReady: ({ pid }) => isReady(home.data, pid),
    readyTimeoutMs,
    // "Fast shutdown": disconnects clients and writes a checkpoint.
    stopSignal: 'SIGINT',
    stopTimeoutMs,
  };
}
