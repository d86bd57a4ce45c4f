/**
 * The addresses of the test run's shared servers. global-setup.ts starts them, and the workers get the addresses in
 * their environment.
 */
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

/** The folder of Node's compile cache for every process of this run. Workers and their children inherit it. */
export function shareCompileCache(folder: string): void {
  process.env['NODE_COMPILE_CACHE'] = folder;
}

/**
 * That folder as a setting for a child that inherits nothing else; empty when no test run made one, as in a benchmark.
 */
export function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const { NODE_COMPILE_CACHE: folder } = process.env;
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

/** The folder of the bundled programs of this run. */
export function shareProgramFolder(folder: string): void {
  process.env['GATEHOUSE_TEST_PROGRAMS'] = folder;
}

/** The folder of the bundled programs; undefined when no test run made one, as in a benchmark. */
export const programFolder = (): string | undefined => process.env['GATEHOUSE_TEST_PROGRAMS'];

export function databaseUrl(postgresUrl: string, database: string): string {
  const url = new URL(postgresUrl);
  url.pathname = `/${database}`;
  return url.href;
}
