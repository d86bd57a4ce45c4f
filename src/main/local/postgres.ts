import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dieWithParent } from './die-with-parent.ts';
import type { PostgresHome } from './postgres-home.ts';
import { readIfThere } from './private-file.ts';
import { StartError } from './start-error.ts';
import type { ProcessSpec } from './supervisor.ts';

export interface PostgresOptions {
  readonly home: PostgresHome;
  readonly port: number;
  readonly password: string;
  /** Added to the environment, by which a later start recognises the process. */
  readonly marker: Readonly<Record<string, string>>;
  /** False gives up durability for speed: for data that is thrown away. */
  readonly durable: boolean;
  /** Instead of what it is delivered with. Nothing of durability belongs here. */
  readonly settings?: Readonly<Record<string, string>>;
}

const superuser = 'gatehouse';
const database = 'gatehouse';
const host = '127.0.0.1';
const stopTimeoutMs = 2_500;

/** Where clients reach it. */
export const databaseUrl = ({ port, password }: Pick<PostgresOptions, 'port' | 'password'>): string =>
  `postgres://${superuser}:${encodeURIComponent(password)}@${host}:${port}/${database}`;

/** Nothing of the caller's: PG* variables and locales would change what the programs do. */
const environment = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' };

/** Everything that is not PostgreSQL's default, and why. Durability is as delivered: fsync, full pages, synchronous commit. */
const settings = {
  listen_addresses: host,
  // Over TCP only: a socket's folder would be one more place that several users must reach.
  unix_socket_directories: '',
  // Room for the working set of a busy shop on a machine of a few GB.
  shared_buffers: '256MB',
  // Orders are many small commits: fewer checkpoints write fewer full pages. Recovery still takes seconds.
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  // Solid-state disks; and compiling a query never pays for lookups by key.
  random_page_cost: '1.1',
  jit: 'off',
  // Every query here is short: what runs for minutes in a transaction is a bug that would hold back vacuum.
  idle_in_transaction_session_timeout: '60s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};

const volatileSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

async function run(home: PostgresHome, program: string, args: readonly string[], input = ''): Promise<void> {
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
 * Makes the database cluster: whole, or (after an interruption) not at all.
 * UTF-8 with PostgreSQL's own C.UTF-8 collation: the same order on every machine, whatever its C library.
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
    await run(home, 'initdb', ['--pgdata', draft, ...login, ...locale]);
    await run(home, 'postgres', ['--single', '-D', draft, 'postgres'], `CREATE DATABASE ${database}\n`);
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
 * PostgreSQL ignores the pid file of a crash, unless its number has meanwhile been given to another process of the same
 * user, as it soon is in containers. Whoever that is, it is not a PostgreSQL on this folder: those have been ended.
 */
async function removeMisleadingPidFile(data: string): Promise<void> {
  const path = join(data, 'postmaster.pid');
  const pid = Number.parseInt((await readIfThere(path)) ?? '', 10);
  if (isAlive(pid)) await rm(path);
}

/** As pg_ctl finds it out: the postmaster writes its state into line 8 of its pid file. */
async function isReady(data: string, pid: number): Promise<boolean> {
  const lines = ((await readIfThere(join(data, 'postmaster.pid'))) ?? '').split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

/**
 * An embedded PostgreSQL with one database, listening on the loopback address only, opened by a password.
 * No other process may be running on its data (see `endLeftovers`).
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
  return {
    name: 'postgres',
    address: `${host}:${port}`,
    prepare: async () => {
      if (existsSync(home.data)) await removeMisleadingPidFile(home.data);
      else await createCluster(home, options.password);
    },
    ...dieWithParent('SIGINT', join(home.programs, 'bin', 'postgres'), args),
    env: { ...environment, ...options.marker },
    cwd: '/',
    user: home.user,
    isReady: ({ pid }) => isReady(home.data, pid),
    // "Fast shutdown": ends the sessions, writes a checkpoint.
    stopSignal: 'SIGINT',
    stopTimeoutMs,
  };
}
