import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { storeAnswers } from '../../platform/nats/store-answers.ts';
import { exitWithParent } from './exit-with-parent.ts';
import { writePrivateFile } from './private-file.ts';
import type { ProcessSpec } from './supervisor.ts';

export interface NatsOptions {
  /** The nats-server program. */
  readonly program: string;
  /** Contains the streams and the configuration. It may be deleted while the server is stopped. */
  readonly folder: string;
  readonly port: number;
  readonly password: string;
  /** Added to the environment, so that a later start recognises the process. */
  readonly marker: Readonly<Record<string, string>>;
}

const user = 'gatehouse';
const host = '127.0.0.1';
const stopTimeoutMs = 2_500;
const greetingTimeoutMs = 1_000;
const answerTimeoutMs = 3_000;

/** The URL for clients. */
export const natsUrl = ({ port, password }: Pick<NatsOptions, 'port' | 'password'>): string =>
  `nats://${user}:${encodeURIComponent(password)}@${host}:${port}`;

const configuration = ({ folder, port, password }: NatsOptions): string => `
host: ${JSON.stringify(host)}
port: ${port}
server_name: gatehouse
authorization { user: ${user}, password: ${JSON.stringify(password)} }
jetstream {
  store_dir: ${JSON.stringify(folder)}
  max_memory_store: 64MB
  # Events are in PostgreSQL; what is here may be lost, but must not fill the disk.
  max_file_store: 2GB
}
`;

/** The server greets clients once it is ready, after it has read its streams. */
async function isGreeting(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const answer = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(greetingTimeoutMs, () => answer(false));
    socket.once('data', (greeting) => answer(greeting.toString().startsWith('INFO ')));
    socket.once('error', () => answer(false));
    socket.once('close', () => answer(false));
  });
}

/** A nats-server with JetStream, on the loopback address only, with a password. */
export function natsProcess(options: NatsOptions): ProcessSpec {
  const configurationFile = join(options.folder, 'nats-server.conf');
  return {
    name: 'nats-server',
    address: `${host}:${options.port}`,
    prepare: async () => {
      await mkdir(options.folder, { recursive: true, mode: 0o700 });
      await writePrivateFile(configurationFile, configuration(options));
    },
    ...exitWithParent('SIGTERM', options.program, ['--config', configurationFile]),
    env: { ...options.marker },
    cwd: '/',
    isReady: () => isGreeting(options.port),
    // A server whose store was deleted answers, and stores nothing any more.
    isResponsive: async () =>
      existsSync(join(options.folder, 'jetstream')) && storeAnswers(natsUrl(options), answerTimeoutMs),
    stopSignal: 'SIGTERM',
    stopTimeoutMs,
  };
}
