import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import type * as BundlePrograms from '../../src/main/local/bundle-programs.ts';
import type * as HeapFlags from '../../src/main/local/heap-flags.ts';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import { walletsOfCore } from '../../test/support/simulated-wallets.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { childrenNamed } from '../load/process-usage.ts';
import { createCleanUps } from './clean-ups.ts';
import type { CleanUps } from './clean-ups.ts';
import { compileOnce, root, startLogged } from './logged-process.ts';
import type { LoggedProcess } from './logged-process.ts';

/** Facades, cores and their broker on an existing database. */
export interface Gatehouse {
  readonly databaseUrl: string;
  readonly database: pg.Client;
  /** Orders S-00000001 to this one exist and can be requested. */
  readonly seeded: number;
  readonly cores: readonly LoggedProcess[];
  readonly facades: readonly LoggedProcess[];
  readonly urls: readonly string[];
  readonly coreAddresses: readonly string[];
  readonly connectUrl: string;
  /** Service tokens, by role. */
  readonly tokens: { readonly operator: string; readonly checkout: string; readonly dashboard: string };
  /** The URL of the dashboard; empty when it was not started. */
  readonly dashboardUrl: string;
  readonly nats: number;
  /**
   * Waits until the broker has confirmed every event, so that the next run does not pay for them. Returns the seconds
   * that it took.
   */
  readonly settle: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

export interface GatehouseOptions {
  readonly databaseUrl: string;
  readonly seeded: number;
  readonly cores?: number;
  readonly facades?: number;
  /** Whether the dashboard is started, with the process that sends webhooks. */
  readonly withDashboard?: boolean;
  /** The checkout of the project whose core and facade are started; this one by default. */
  readonly folder?: string;
  /** The folder in which core and facade write CPU profiles at their exit; empty for none. */
  readonly profileFolder?: string;
  readonly nodeOptions?: readonly string[];
  /** More settings of each process. */
  readonly settings?: Readonly<Record<string, string>>;
}

const token = (): string => randomBytes(32).toString('hex');
const settledWithinMs = 120_000;

/** @throws when a part does not start; everything is stopped then */
export async function startGatehouse(options: GatehouseOptions): Promise<Gatehouse> {
  const cleanUps = createCleanUps();
  try {
    return await startParts(options, cleanUps);
  } catch (error) {
    await cleanUps.run();
    throw error;
  }
}

async function startParts(options: GatehouseOptions, cleanUps: CleanUps): Promise<Gatehouse> {
  const { databaseUrl, seeded, cores: coreCount = 1, facades: facadeCount = 1 } = options;
  const before = new Set(childrenNamed(process.pid, 'nats-server'));
  const broker = await startTemporaryNats();
  cleanUps.add(broker.stop);
  const nats = childrenNamed(process.pid, 'nats-server').find((pid) => !before.has(pid)) ?? 0;
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  cleanUps.add(() => database.end());

  const tokens = {
    facade: token(),
    operator: token(),
    checkout: token(),
    dashboard: token(),
    webhooks: token(),
  };
  const start = await startAllWith(options, cleanUps);
  const cores = await start(coreCount, 'core', coreSettings(databaseUrl, broker.url, tokens));
  const coreAddresses = cores.map(({ ready }) => String(ready['grpc']));
  const facades = await start(facadeCount, 'rest-facade', facadeSettings(coreAddresses, tokens));
  const startDashboard = async (): Promise<LoggedProcess | undefined> => {
    const toCore = { GATEHOUSE_CORE_ADDRESSES: coreAddresses.join() };
    const [webhooks] = await start(1, 'webhooks', {
      ...toCore,
      ...webhookSettings(databaseUrl, broker.url, tokens),
    });
    const [dashboard] = await start(1, 'dashboard', {
      ...toCore,
      GATEHOUSE_WEBHOOKS_ADDRESSES: String(webhooks?.ready['grpc']),
      GATEHOUSE_SERVICE_TOKEN: tokens.dashboard,
      GATEHOUSE_DASHBOARD_PORT: '0',
    });
    return dashboard;
  };
  const dashboard = options.withDashboard === true ? await startDashboard() : undefined;
  return {
    databaseUrl,
    database,
    seeded,
    cores,
    facades,
    urls: facades.map(({ ready }) => String(ready['sandbox'])),
    coreAddresses,
    connectUrl: `http://${String(cores[0]?.ready['connect'])}`,
    tokens,
    dashboardUrl: dashboard === undefined ? '' : String(dashboard.ready['dashboard']),
    nats,
    settle: () => settle(database),
    stop: cleanUps.run,
  };
}

type SettingsFor = (
  databaseUrl: string,
  natsUrl: string,
  tokens: Readonly<Record<string, string>>,
) => Readonly<Record<string, string>>;

const coreSettings: SettingsFor = (databaseUrl, natsUrl, tokens) => ({
  GATEHOUSE_DATABASE_URL: databaseUrl,
  GATEHOUSE_NATS_URL: natsUrl,
  // The keys of the database's merchant were hashed with it.
  GATEHOUSE_MASTER_KEY: 'ab'.repeat(32),
  GATEHOUSE_SERVICE_TOKENS: tokensInWords(tokens),
  GATEHOUSE_WALLETS: walletsOfCore(),
  GATEHOUSE_CORE_GRPC_PORT: '0',
  GATEHOUSE_CORE_CONNECT_PORT: '0',
});

const facadeSettings = (
  coreAddresses: readonly string[],
  tokens: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  GATEHOUSE_CORE_ADDRESSES: coreAddresses.join(),
  GATEHOUSE_SERVICE_TOKEN: tokens['facade'] ?? '',
  GATEHOUSE_REST_PRODUCTION_PORT: '0',
  GATEHOUSE_REST_SANDBOX_PORT: '0',
  // The limit is counted, as in production, and never reached.
  GATEHOUSE_RATE_LIMIT_PER_KEY: '10000000',
});

const webhookSettings: SettingsFor = (databaseUrl, natsUrl, tokens) => ({
  GATEHOUSE_DATABASE_URL: databaseUrl,
  GATEHOUSE_NATS_URL: natsUrl,
  GATEHOUSE_SERVICE_TOKEN: tokens['webhooks'] ?? '',
  GATEHOUSE_SERVICE_TOKENS: tokensInWords(tokens),
  GATEHOUSE_WEBHOOK_SECRET_KEYS: `bench:${token()}`,
  GATEHOUSE_WEBHOOKS_GRPC_PORT: '0',
  GATEHOUSE_WEBHOOKS_CONNECT_PORT: '0',
});

const tokensInWords = (tokens: Readonly<Record<string, string>>): string =>
  Object.entries(tokens)
    .map(([role, value]) => `${role}:${value}`)
    .join();

async function startAllWith(
  { folder = root, profileFolder = '', nodeOptions = [], settings: ofEach = {} }: GatehouseOptions,
  cleanUps: CleanUps,
) {
  const { heapEnvironment, heapFlags } = (await import(
    pathToFileURL(join(folder, 'src/main/local/heap-flags.ts')).href
  )) as typeof HeapFlags;
  const programsIn = await ownPrograms(folder);
  const profiling = profileFolder === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profileFolder)}`];
  return async (
    count: number,
    name: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<LoggedProcess[]> => {
    const started: LoggedProcess[] = [];
    const { file, flags } = programsIn(name);
    if (count > 0) compileOnce(file, folder, [...heapFlags, ...flags]);
    while (started.length < count) {
      const one = await startLogged({
        folder,
        file,
        settings: { ...heapEnvironment, ...settings, ...ofEach },
        nodeOptions: [...heapFlags, ...flags, ...nodeOptions, ...profiling],
      });
      cleanUps.add(one.stop);
      started.push(one);
    }
    return started;
  };
}

interface Program {
  readonly file: string;
  readonly flags: readonly string[];
}

/** The programs of each version that this process has started. */
const programsOf = new Map<string, Promise<(name: string) => Program>>();

function ownPrograms(folder: string): Promise<(name: string) => Program> {
  const known = programsOf.get(folder) ?? findPrograms(folder);
  programsOf.set(folder, known);
  return known;
}

/** The programs of a version as it runs them: bundled, by some with flags of Node, or by an earlier version from the sources. */
async function findPrograms(folder: string): Promise<(name: string) => Program> {
  const bundler = join(folder, 'src/main/local/bundle-programs.ts');
  if (!existsSync(bundler)) return (name) => ({ file: `src/main/${name}.ts`, flags: [] });
  const {
    bundlePrograms,
    bundledProgram,
    bundleFlags = [],
  } = (await import(pathToFileURL(bundler).href)) as typeof BundlePrograms & {
    readonly bundleFlags?: string[];
  };
  const programs = await mkdtemp(join(tmpdir(), 'gatehouse-programs-'));
  process.once('exit', () => rmSync(programs, { recursive: true, force: true }));
  await bundlePrograms(folder, programs);
  return (name) => ({ file: bundledProgram(programs, name), flags: bundleFlags });
}

/** Waits until the broker has confirmed every event. Returns the seconds that it took. */
async function settle(database: pg.Client): Promise<number> {
  const begun = performance.now();
  await waitUntil('all events are with the broker', () => isRelayed(database), settledWithinMs);
  return (performance.now() - begun) / 1000;
}

async function isRelayed(database: pg.Client): Promise<boolean> {
  const { rows } = await database.query<{ relayed: boolean }>(
    `select exists (
       select from core.event_relay r where (r.xid, r.position) >=
         (select xid, position from core.order_events order by xid desc, position desc limit 1)
     ) as relayed`,
  );
  return rows[0]?.relayed === true;
}
