import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { connect } from 'nats';
import type { NatsConnection } from 'nats';
import { exitWithParent } from '../../../src/main/local/exit-with-parent.ts';
import { choosePorts } from '../../../src/main/local/free-port.ts';
import { beginLog } from '../../../src/main/local/log-file.ts';
import { findOrInstallNatsServer } from '../../../src/main/local/nats-binary.ts';
import { supervise } from '../../../src/main/local/supervisor.ts';

export type NatsUser = 'core' | 'webhooks' | 'wallets' | 'sandbox-reader' | 'shop-reader';

/** The only merchant whose events the shop-reader of the sample gets. */
export const shopOfTheSample = 'mer_01m7xjbb99evv8hx2dqm5r8qgn';

const sample = resolve(import.meta.dirname, '../../../deploy/nats/nats-server.conf');
const host = '127.0.0.1';
const ignore = (): undefined => undefined;
/** Some passwords of hexadecimal digits alone would be read as numbers. */
const passwordOf = (user: NatsUser): string => `n12e4-${user}`;

/** The sample with another store_dir. Options of the command replace its addresses. */
function storingIn(folder: string, text: string): string {
  const changed = text.replace('store_dir: "/var/lib/nats"', `store_dir: ${JSON.stringify(folder)}`);
  if (changed === text) throw new Error('the sample has another store_dir');
  return changed;
}

/** Starts a nats-server with the sample configuration, on free ports and in a new folder. */
export async function startNatsWithAccounts() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nats-accounts-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true });
  try {
    return await startIn(folder, remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

async function startIn(folder: string, remove: () => Promise<void>) {
  const signal = new AbortController().signal;
  const program = await findOrInstallNatsServer({ report: ignore, signal });
  const wanted = { setting: 'a free port', host, port: 0 };
  const [port = 0, monitoringPort = 0] = await choosePorts([wanted, { ...wanted, setting: 'another' }]);
  const monitoring = `http://${host}:${monitoringPort}`;
  const configuration = join(folder, 'nats-server.conf');
  await writeFile(configuration, storingIn(join(folder, 'jetstream'), await readFile(sample, 'utf8')));
  const own = ['--addr', host, '--port', `${port}`, '--http_port', `${monitoringPort}`];
  const server = await supervise(
    {
      name: 'nats-server',
      address: `${host}:${port}`,
      ...exitWithParent('SIGTERM', program, ['--config', configuration, ...own]),
      env: {
        NATS_CORE_PASSWORD: passwordOf('core'),
        NATS_WEBHOOKS_PASSWORD: passwordOf('webhooks'),
        NATS_WALLETS_PASSWORD: passwordOf('wallets'),
        NATS_SANDBOX_READER_PASSWORD: passwordOf('sandbox-reader'),
        NATS_SHOP_READER_PASSWORD: passwordOf('shop-reader'),
      },
      cwd: '/',
      isReady: () =>
        fetch(`${monitoring}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 5_000,
    },
    { log: await beginLog(join(folder, 'nats-server.log')), warn: ignore, signal },
  );
  return {
    address: `${host}:${port}`,
    /** As GATEHOUSE_NATS_URL of that user's process. */
    urlOf: (user: NatsUser) => `nats://${user}:${passwordOf(user)}@${host}:${port}`,
    /** As a program of that user's with the NATS client's defaults, but for the inbox. */
    connectAs: (user: NatsUser): Promise<NatsConnection> => {
      const login = { user, pass: passwordOf(user), inboxPrefix: `_INBOX_${user}` };
      return connect({ servers: `${host}:${port}`, reconnect: false, ...login });
    },
    /** The answer of its monitoring at that path. */
    monitor: async (path: string): Promise<unknown> => (await fetch(`${monitoring}${path}`)).json(),
    stop: () => server.stop().then(remove),
  };
}
