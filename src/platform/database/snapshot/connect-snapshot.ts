import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { createLogger } from '../../logger.ts';
import type { CertificateFiles } from '../../tls/certificate-files.ts';
import { databaseTls } from '../database-tls.ts';
import { withSessionOptions, withoutTimeLimits } from '../session-options.ts';

/** A database that a snapshot is taken from or loaded into. */
export interface SnapshotDatabase {
  readonly url: string;
  /** The files that count unless the URL names others. */
  readonly tls?: CertificateFiles | undefined;
}

/** Parameters of the URL that the driver would interpret differently from the processes. */
const tlsParameters = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'];

/**
 * The driver's settings for a connection, with the TLS that the processes have with the same URL. `stop` stops reading its files.
 * @throws SettingsError for parameters of TLS that cannot be used
 */
export function snapshotConnection(
  { url, tls }: SnapshotDatabase,
  applicationName: string,
): { readonly config: ClientConfig; readonly stop: () => void } {
  const logger = createLogger({ process: 'cli', instance: applicationName, level: 'silent' });
  const { ssl, stop } = databaseTls(url, tls, logger, () => new Date());
  const named = new URL(withSessionOptions(url));
  for (const name of tlsParameters) named.searchParams.delete(name);
  const config = {
    connectionString: named.href,
    application_name: applicationName,
    ssl: ssl ?? false,
    connectionTimeoutMillis: 10_000,
    // A client that only receives rows does not notice by itself that the server's machine was lost. A limit for silence would end the
    // connection to a server that is only slow.
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  };
  return { config, stop };
}

/** Works with a connection that has no time limits, and closes it. */
export async function withSnapshotClient<Result>(
  database: SnapshotDatabase,
  applicationName: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const { config, stop } = snapshotConnection(database, applicationName);
  try {
    const client = new Client(config);
    // The running query fails with the same error.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query(withoutTimeLimits);
      return await work(client);
    } finally {
      await client.end();
    }
  } finally {
    stop();
  }
}
