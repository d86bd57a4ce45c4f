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

/** The folder for what Node compiles, for every process that this run starts: workers and their children inherit it. */
export function shareCompileCache(folder: string): void {
  process.env['NODE_COMPILE_CACHE'] = folder;
}

/** That folder as a setting of a child that inherits nothing else; none where no test run made one, as in a benchmark. */
export function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const { NODE_COMPILE_CACHE: folder } = process.env;
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

export function databaseUrl(postgresUrl: string, database: string): string {
  const url = new URL(postgresUrl);
  url.pathname = `/${database}`;
  return url.href;
}
