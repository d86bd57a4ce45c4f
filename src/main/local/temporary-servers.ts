import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { choosePorts } from './free-port.ts';
import { beginLog } from './log-file.ts';
import { findOrInstallNatsServer } from './nats-binary.ts';
import { natsProcess, natsUrl } from './nats.ts';
import { findPostgresHome, installedPostgres, sharedFolder } from './postgres-home.ts';
import { databaseUrl, postgresProcess } from './postgres.ts';
import type { PostgresOptions } from './postgres.ts';
import { supervise } from './supervisor.ts';
import type { ProcessSpec } from './supervisor.ts';

/** A server in its own folder, on a free port. */
export interface TemporaryServer {
  readonly url: string;
  /** Stops it and removes its folder. */
  readonly stop: () => Promise<void>;
}

const ignore = () => undefined;
/** The servers accept only connections from this machine, and hold only temporary data. */
const password = 'temporary-and-on-loopback-only';

/** Runs a server in a new folder. The folder is removed when the server stops or fails to start. */
async function startIn(
  prefix: string,
  describe: (folder: string) => Promise<{ url: string; spec: ProcessSpec }>,
): Promise<TemporaryServer> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const remove = () => rm(folder, { recursive: true, maxRetries: 20, retryDelay: 50 });
  try {
    const { url, spec } = await describe(folder);
    const log = await beginLog(join(folder, `${spec.name}.log`));
    const server = await supervise(spec, { log, warn: ignore, signal: new AbortController().signal });
    return { url, stop: () => server.stop().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function freePort(): Promise<number> {
  const [port = 0] = await choosePorts([{ setting: 'a free port', host: '127.0.0.1', port: 0 }]);
  return port;
}

/** Starts an empty PostgreSQL, by default with durability traded for speed. The URL is a superuser's. */
export async function startTemporaryPostgres({
  durable = false,
  settings = {},
}: Partial<Pick<PostgresOptions, 'durable' | 'settings'>> = {}): Promise<TemporaryServer> {
  return startIn('gatehouse-postgres-', async (folder) => {
    const search = { dataFolder: folder, native: installedPostgres(), shared: sharedFolder, report: ignore };
    const home = await findPostgresHome(search);
    const options = { home, port: await freePort(), password, marker: {}, durable, settings };
    return { url: databaseUrl(options), spec: postgresProcess(options) };
  });
}

/** Starts an empty nats-server with JetStream. */
export async function startTemporaryNats(): Promise<TemporaryServer> {
  return startIn('gatehouse-nats-', async (folder) => {
    const program = await findOrInstallNatsServer({ report: ignore, signal: new AbortController().signal });
    const options = { program, folder, port: await freePort(), password, marker: {} };
    return { url: natsUrl(options), spec: natsProcess(options) };
  });
}
