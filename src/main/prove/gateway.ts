import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { targets } from '../../cli/prove/faults.ts';
import type { Target } from '../../cli/prove/faults.ts';
import { createGrpcTransport } from '../../contract/grpc-transport.ts';
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/health/v1/health_pb.js';
import { storeAnswers } from '../../platform/nats/store-answers.ts';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';
import { chooseAddresses } from '../local/addresses.ts';
import type { Addresses } from '../local/addresses.ts';
import {
  checkoutProcess,
  coreProcess,
  dashboardProcess,
  restFacadeProcess,
  walletSimulatorProcess,
  walletsProcess,
  webhooksProcess,
} from '../local/gatehouse-processes.ts';
import { findOrInstallNatsServer } from '../local/nats-binary.ts';
import { natsProcess, natsUrl } from '../local/nats.ts';
import type { PostgresHome } from '../local/postgres-home.ts';
import { findPostgresHome, installedPostgres, sharedFolder } from '../local/postgres-home.ts';
import { databaseUrl, postgresProcess } from '../local/postgres.ts';
import { readIfThere } from '../local/private-file.ts';
import { readOrMakeSecrets } from '../local/secrets.ts';
import type { Secrets } from '../local/secrets.ts';
import { findPrograms } from '../local/bundle-programs.ts';
import { readLocalSettings } from '../local/settings.ts';
import type { ProcessSpec } from '../local/supervisor.ts';
import type { Address, NetworkLink } from './network-link.ts';
import { stoppableProcess } from './stoppable-process.ts';
import type { StoppableProcess } from './stoppable-process.ts';

/** Opens the network between two processes. `from` and `to` are targets, or the shop. */
export type OpenLink = (link: {
  readonly from: string;
  readonly to: string;
  readonly server: Address;
}) => Promise<NetworkLink>;

/** The folder that a target fills: with the database, with the broker's store, or with its log. */
export const folderOf = (folder: string, target: Target): string =>
  target === 'database' || target === 'broker' ? join(folder, target) : join(folder, 'logs', target);

export interface GatewayOptions {
  /** An existing folder. Folders in it may be disks of their own. */
  readonly folder: string;
  readonly environment: ProcessEnvironment;
  readonly projectRoot: string;
  /** Servers of the operator, instead of own ones. */
  readonly databaseUrl: string | undefined;
  readonly natsUrl: string | undefined;
  /** The processes that the campaign can do without run only if they are listed. */
  readonly attacked: ReadonlySet<Target>;
  readonly openLink: OpenLink;
  /** Called with a sentence when a process exits unexpectedly. */
  readonly onExit: (name: string, line: string) => void;
  /** Receives sentences for the user. */
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A complete gateway for one campaign. All processes reach each other through links. */
export interface CampaignGateway {
  readonly processes: ReadonlyMap<Target, StoppableProcess>;
  readonly linksOf: (target: Target) => readonly NetworkLink[];
  /** The merchant API of the sandbox as the shop reaches it. */
  readonly sandbox: string;
  /** The port at which webhooks reaches a receiver of the shop. */
  readonly receiver: (port: number) => Promise<number>;
  /** False when the database is elsewhere, because PostgreSQL's user cannot enter the folder. */
  readonly isDatabaseInside: boolean;
  /** Without links, for the judge. */
  readonly databaseUrl: string;
  readonly simulatorUrl: string;
  readonly coreAddress: string;
  readonly webhooksAddress: string;
  readonly tokens: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /** How often the database's log says that there was no space. */
  readonly countLackOfSpace: () => Promise<number>;
  /** The processes that are not ready. */
  readonly notReady: () => Promise<readonly Target[]>;
  readonly stop: () => Promise<void>;
}

const anyPort = Object.fromEntries(
  ['REST_PRODUCTION', 'REST_SANDBOX', 'CHECKOUT', 'DASHBOARD', 'WALLET_CALLBACK', 'SIMULATOR', 'CORE_GRPC']
    .concat(['CORE_CONNECT', 'WEBHOOKS_GRPC', 'WEBHOOKS_CONNECT', 'POSTGRES', 'NATS'])
    .map((name) => [`GATEHOUSE_${name}_PORT`, '0']),
);
const probeTimeoutMs = 3_000;

/** The same URL with the address of a link. */
function urlThroughLink(url: string, port: number): string {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(port);
  return changed.href.replace(/\/$/, url.endsWith('/') ? '/' : '');
}

const addressOf = (url: string, defaultPort: number): Address => {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
};

const loopbackAddress = (port: number): Address => ({ host: '127.0.0.1', port });

/** Starts it. @throws StartError or SettingsError; nothing is left running then */
export async function openGateway(options: GatewayOptions): Promise<CampaignGateway> {
  const { folder, attacked } = options;
  const links = createLinks(options.openLink);
  const levels = createLevels(options);
  const stop = async (): Promise<void> => {
    await levels.stop();
    await links.close();
  };
  try {
    for (const target of targets) await mkdir(folderOf(folder, target), { recursive: true, mode: 0o711 });
    const secrets = await readOrMakeSecrets(folder, false, randomBytes);
    const addresses = await chooseAddresses(readLocalSettings(anyPort));
    const servers = await chooseServers(options, addresses, secrets);
    const settingsOf = await createSettings(options, { addresses, secrets, servers, links });
    await levels.start(servers.specs);
    await levels.start({
      core: coreProcess(await settingsOf('core')),
      'wallet-simulator': walletSimulatorProcess(await settingsOf('wallet-simulator')),
    });
    await levels.start({
      'rest-facade': restFacadeProcess(await settingsOf('rest-facade')),
      wallets: walletsProcess(await settingsOf('wallets')),
      webhooks: webhooksProcess(await settingsOf('webhooks')),
      ...(attacked.has('checkout') ? { checkout: checkoutProcess(await settingsOf('checkout')) } : {}),
      ...(attacked.has('dashboard') ? { dashboard: dashboardProcess(await settingsOf('dashboard')) } : {}),
    });
    const facade = await links.connect('shop', 'rest-facade', loopbackAddress(addresses.ports.restSandbox));
    const processes = levels.processes();
    const isDatabaseInside = servers.home?.data.startsWith(folder) ?? false;
    return {
      processes,
      linksOf: links.of,
      sandbox: `http://127.0.0.1:${facade}`,
      receiver: (port) => links.connect('webhooks', 'shop', loopbackAddress(port)),
      isDatabaseInside,
      databaseUrl: servers.databaseUrl,
      simulatorUrl: addresses.simulator,
      coreAddress: addresses.grpc,
      webhooksAddress: addresses.webhooks.grpc,
      tokens: secrets.service_tokens,
      secrets: [secrets.master_key, secrets.database_password, secrets.nats_password].concat(
        Object.values(secrets.service_tokens),
      ),
      countLackOfSpace: () => countLackOfSpace(join(folder, 'logs')),
      notReady: () => findNotReady([...processes.keys()], addresses, servers.natsUrl),
      stop: async () => {
        await stop();
        if (servers.home !== undefined && !isDatabaseInside)
          await rm(dirname(servers.home.data), { recursive: true, force: true });
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Links = ReturnType<typeof createLinks>;

function createLinks(openLink: OpenLink) {
  const links: { readonly from: string; readonly to: string; readonly link: NetworkLink }[] = [];
  return {
    /** Returns the port at which `from` reaches the server of `to`. */
    connect: async (from: string, to: string, server: Address): Promise<number> => {
      const link = await openLink({ from, to, server });
      links.push({ from, to, link });
      return link.port;
    },
    of: (target: Target): readonly NetworkLink[] =>
      links.filter(({ from, to }) => from === target || to === target).map(({ link }) => link),
    close: async (): Promise<void> => {
      await Promise.all(links.map(({ link }) => link.close()));
    },
  };
}

/** Levels of processes: those of one start together, after the levels that they need. The last level stops first. */
function createLevels({ folder, onExit, signal }: GatewayOptions) {
  const levels: Map<Target, StoppableProcess>[] = [];
  return {
    start: async (specs: Partial<Record<Target, ProcessSpec>>): Promise<void> => {
      const level = new Map<Target, StoppableProcess>();
      levels.push(level);
      const starting = Object.entries(specs).map(async ([name, spec]) => {
        const warn = (line: string): void => onExit(name, line);
        const isServer = name === 'database' || name === 'broker';
        const logFolder = isServer ? join(folder, 'logs') : folderOf(folder, name as Target);
        const started = await stoppableProcess(spec, { logFolder, warn, signal });
        level.set(name as Target, started);
        await started.start();
      });
      const failed = (await Promise.allSettled(starting)).find((each) => each.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
    processes: (): ReadonlyMap<Target, StoppableProcess> => new Map(levels.flatMap((level) => [...level])),
    stop: async (): Promise<void> => {
      for (const level of levels.toReversed())
        await Promise.all(
          [...level.values()].map((each) => {
            each.thaw();
            return each.stop();
          }),
        );
    },
  };
}

interface Servers {
  /** The processes of those that the operator did not provide. */
  readonly specs: Partial<Record<'database' | 'broker', ProcessSpec>>;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** Undefined for a database of the operator. */
  readonly home: PostgresHome | undefined;
}

/** Takes the operator's database and broker, or finds the programs for own ones. */
async function chooseServers(
  options: GatewayOptions,
  { ports }: Addresses,
  secrets: Secrets,
): Promise<Servers> {
  const { folder, signal } = options;
  const database = { port: ports.postgres, password: secrets.database_password };
  const broker = { port: ports.nats, password: secrets.nats_password };
  const report = (): undefined => undefined;
  const specs: { database?: ProcessSpec; broker?: ProcessSpec } = {};
  let home: PostgresHome | undefined;
  if (options.databaseUrl === undefined) {
    home = await findPostgresHome({
      dataFolder: folderOf(folder, 'database'),
      native: installedPostgres(),
      shared: sharedFolder,
      report,
    });
    specs.database = postgresProcess({ ...database, home, marker: {}, durable: true });
  }
  if (options.natsUrl === undefined) {
    const program = await findOrInstallNatsServer({ report, signal });
    specs.broker = natsProcess({ ...broker, program, folder: folderOf(folder, 'broker'), marker: {} });
  }
  return {
    specs,
    databaseUrl: options.databaseUrl ?? databaseUrl(database),
    natsUrl: options.natsUrl ?? natsUrl(broker),
    home,
  };
}

/** Opens the links through which a process reaches the others, and returns their addresses. */
async function createSettings(
  { folder, environment, projectRoot, report }: GatewayOptions,
  {
    addresses,
    secrets,
    servers,
    links,
  }: {
    readonly addresses: Addresses;
    readonly secrets: Secrets;
    readonly servers: Servers;
    readonly links: Links;
  },
) {
  const { ports } = addresses;
  const callbacks = await links.connect('wallet-simulator', 'wallets', loopbackAddress(ports.walletCallback));
  const programFolder = await findPrograms(environment, projectRoot, join(folder, 'programs'), (reason) =>
    report(`The processes start later and use more memory, because they cannot be bundled: ${reason}`),
  );
  return async (from: Target) => {
    const core = await links.connect(from, 'core', loopbackAddress(ports.coreGrpc));
    const webhooks = await links.connect(from, 'webhooks', loopbackAddress(ports.webhooksGrpc));
    const simulator = await links.connect(from, 'wallet-simulator', loopbackAddress(ports.simulator));
    const database = await links.connect(from, 'database', addressOf(servers.databaseUrl, 5432));
    const broker = await links.connect(from, 'broker', addressOf(servers.natsUrl, 4222));
    const own: Addresses = {
      ...addresses,
      grpc: `127.0.0.1:${core}`,
      webhooks: { ...addresses.webhooks, grpc: `127.0.0.1:${webhooks}` },
      simulator: `http://127.0.0.1:${simulator}`,
      walletCallback: `http://127.0.0.1:${callbacks}`,
    };
    return {
      environment,
      projectRoot,
      programFolder,
      dataFolder: folder,
      secrets,
      addresses: own,
      databaseUrl: urlThroughLink(servers.databaseUrl, database),
      natsUrl: urlThroughLink(servers.natsUrl, broker),
    };
  };
}

async function countLackOfSpace(logs: string): Promise<number> {
  const text = await readIfThere(join(logs, 'postgres.log'));
  return text?.match(/no space left on device/gi)?.length ?? 0;
}

async function findNotReady(
  running: readonly Target[],
  addresses: Addresses,
  broker: string,
): Promise<readonly Target[]> {
  const probes: Partial<Record<Target, () => Promise<boolean>>> = {
    core: () => isServing(addresses.grpc),
    webhooks: () => isServing(addresses.webhooks.grpc),
    'rest-facade': () => isOk(`${addresses.rest.sandbox}/readyz`),
    checkout: () => isOk(`${addresses.checkout}/readyz`),
    dashboard: () => isOk(`${addresses.dashboard}/readyz`),
    wallets: () => isOk(`${addresses.walletCallback}/readyz`),
    'wallet-simulator': () => isOk(`${addresses.simulator}/healthz`),
    broker: () => storeAnswers(broker, probeTimeoutMs),
  };
  const answers = await Promise.all(
    running.map(async (target) => ((await probes[target]?.()) === false ? [target] : [])),
  );
  return answers.flat();
}

async function isOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(probeTimeoutMs) })).ok;
  } catch {
    return false;
  }
}

async function isServing(address: string): Promise<boolean> {
  const transport = createGrpcTransport({ addresses: [address], token: '' });
  try {
    const { status } = await createClient(Health, transport).check(
      { service: '' },
      { timeoutMs: probeTimeoutMs },
    );
    return status === ServingStatus.SERVING;
  } catch {
    return false;
  } finally {
    transport.close();
  }
}
