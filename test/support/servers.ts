/** Where the test run's shared servers are: started once by global-setup.ts, handed to the workers in the environment. */
export interface SharedServers {
  /** A superuser's URL of the `postgres` database. */
  readonly postgresUrl: string;
  readonly natsUrl: string;
}

export const templateDatabase = 'gatehouse_template';

export function shareServers({ postgresUrl, natsUrl }: SharedServers): void {
  process.env['GATEHOUSE_TEST_POSTGRES_URL'] = postgresUrl;
  process.env['GATEHOUSE_TEST_NATS_URL'] = natsUrl;
}

export function sharedServers(): SharedServers {
  const { GATEHOUSE_TEST_POSTGRES_URL: postgresUrl, GATEHOUSE_TEST_NATS_URL: natsUrl } = process.env;
  if (postgresUrl === undefined || natsUrl === undefined) throw new Error('global-setup.ts has not run');
  return { postgresUrl, natsUrl };
}

export function databaseUrl(postgresUrl: string, database: string): string {
  const url = new URL(postgresUrl);
  url.pathname = `/${database}`;
  return url.href;
}
