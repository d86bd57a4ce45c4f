import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { choosePorts } from '../../src/main/local/free-port.ts';
import { findOrInstallNatsServer } from '../../src/main/local/nats-binary.ts';
import { natsProcess, natsUrl } from '../../src/main/local/nats.ts';
import { findPostgresHome, installedPostgres, sharedFolder } from '../../src/main/local/postgres-home.ts';
import { databaseUrl, postgresProcess } from '../../src/main/local/postgres.ts';
import type { ProcessSpec } from '../../src/main/local/supervisor.ts';
import { stoppableProcess } from '../../src/main/prove/stoppable-process.ts';
import { waitUntil } from '../support/wait-until.ts';

/** A server of the test that keeps its port and its folder while it is stopped. */
export interface StoppableServer {
  readonly url: string;
  readonly start: () => Promise<void>;
  /** Stops it as an operator does. */
  readonly stop: () => Promise<void>;
  /** Ends it like a crash. It is started again by itself. */
  readonly kill: () => void;
  /** Stops it from running, until `thaw`. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Deletes what it has stored. It must be stopped. */
  readonly wipe: () => Promise<void>;
  /** Ends it, and removes everything that it has stored. */
  readonly remove: () => Promise<void>;
}

const password = 'of-one-test';
const ignore = (): undefined => undefined;

async function freePort(): Promise<number> {
  const [port = 0] = await choosePorts([{ setting: 'a free port', host: '127.0.0.1', port: 0 }]);
  return port;
}

async function stoppable(url: string, folder: string, spec: ProcessSpec): Promise<StoppableServer> {
  const { start, stop, kill, freeze, thaw } = await stoppableProcess(spec, {
    logFolder: folder,
    warn: ignore,
  });
  return {
    url,
    start,
    stop,
    kill,
    freeze,
    thaw,
    // A running server still writes into the folder.
    wipe: () =>
      rm(join(folder, 'jetstream'), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
    remove: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A nats-server, not started yet. */
export async function ownNats(): Promise<StoppableServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-own-nats-'));
  const program = await findOrInstallNatsServer({ report: ignore, signal: new AbortController().signal });
  const options = { program, folder, port: await freePort(), password, marker: {} };
  return stoppable(natsUrl(options), folder, natsProcess(options));
}

/** A server that is killed and started again. */
export interface CrashingPostgres extends StoppableServer {
  /** Resolves when it has recovered from as many crashes as it was killed, and accepts connections. */
  readonly untilRecovered: () => Promise<void>;
}

/**
 * A new PostgreSQL that is not started yet and as durable as in production: what it has acknowledged survives a
 * crash.
 */
export async function ownPostgres(): Promise<CrashingPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-own-postgres-'));
  const search = { dataFolder: folder, native: installedPostgres(), shared: sharedFolder, report: ignore };
  const home = await findPostgresHome(search);
  const options = { home, port: await freePort(), password, marker: {}, durable: true };
  const server = await stoppable(databaseUrl(options), folder, postgresProcess(options));
  let kills = 0;
  const recoveries = async (): Promise<number> => {
    const log = await readFile(join(folder, 'postgres.log'), 'utf8');
    // After each crash it recovers from its WAL, and then accepts connections.
    return (
      log.split('automatic recovery in progress').filter((part) => part.includes('ready to accept')).length -
      1
    );
  };
  return {
    ...server,
    kill: () => {
      kills += 1;
      server.kill();
    },
    untilRecovered: async () => {
      await waitUntil('PostgreSQL has recovered', async () => (await recoveries()) >= kills);
    },
  };
}
