import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants, mkdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalSettings } from './settings.ts';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';
import { chooseAddresses } from './addresses.ts';
import type { Addresses } from './addresses.ts';
import { findPrograms } from './bundle-programs.ts';
import { walletAccess } from './demo-wallets.ts';
import {
  checkoutProcess,
  coreProcess,
  dashboardProcess,
  restFacadeProcess,
  walletSimulatorProcess,
  walletsProcess,
  webhooksProcess,
} from './gatehouse-processes.ts';
import { lockFolder } from './instance-lock.ts';
import { compareDatabase, refuseOwnDatabase, rememberDatabase } from './known-database.ts';
import { dataFolderMarker, endLeftovers } from './leftovers.ts';
import { hasCode } from './error-code.ts';
import { findOrInstallNatsServer } from './nats-binary.ts';
import { natsProcess, natsUrl } from './nats.ts';
import { findPostgresHome, installedPostgres, rememberPostgresHome, sharedFolder } from './postgres-home.ts';
import { databaseUrl, postgresProcess } from './postgres.ts';
import { demoFile, prepareDemo } from './prepare-demo.ts';
import type { SeededDemo } from './prepare-demo.ts';
import { writePrivateFile } from './private-file.ts';
import { stackProcesses } from './process-stack.ts';
import { readOrMakeSecrets } from './secrets.ts';
import type { Secrets } from './secrets.ts';
import { StartError } from './start-error.ts';
import type { DemoFile } from './summary.ts';
import type { ProcessSpec } from './supervisor.ts';

export interface StartOptions {
  readonly config: LocalSettings;
  /** Passed to the processes, which read their own settings from it. */
  readonly environment: ProcessEnvironment;
  readonly projectRoot: string;
  /** An absolute path. */
  readonly dataFolder: string;
  /** Called with a line about each finished step. */
  readonly report: (line: string) => void;
  /** Called with a line about each problem. */
  readonly warn: (line: string) => void;
  /** Aborts the start. */
  readonly signal: AbortSignal;
}

/** A Gatehouse whose processes are all running. */
export interface Gatehouse {
  readonly demo: DemoFile;
  /** Whether the database was restored, and payments wait until it has been compared with the wallets. */
  readonly isRecovering: boolean;
  /** Stops the processes, clients before servers. Takes less than ten seconds, because it kills slow ones. */
  readonly stop: () => Promise<void>;
}

const leftoversDeadlineMs = 10_000;

async function makeDataFolder(path: string): Promise<string> {
  const orElse = 'or with a folder of your own: GATEHOUSE_DATA_DIR=<folder> npm start';
  // esbuild, which bundles the programs into this folder, writes such a path unescaped into JSON, and ends the start with that.
  if (/["\\]/.test(path)) throw new StartError(`GATEHOUSE_DATA_DIR must have no " and no \\: ${path}`);
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    // On a read-only disk too, Node reports ENOENT.
    throw new StartError(
      `${path} cannot be created (${String(error)}). The disk may be read-only, or this user may not write there.\nStart Gatehouse as a user who may, ${orElse}`,
    );
  });
  const { uid, mode } = await stat(path);
  if (uid !== process.getuid?.())
    throw new StartError(
      `${path} belongs to another user (uid ${uid}).\nStart Gatehouse as that user, ${orElse}`,
    );
  // Anyone who may create a file in it can read the keys, or replace the programs.
  if ((mode & constants.S_IWOTH) !== 0)
    throw new StartError(
      `All users of this machine may write into ${path}, so nothing in it is safe.\nMake sure that no other user has put anything there. Then: chmod o-w ${path}\n` +
        `Start Gatehouse again after that, ${orElse}`,
    );
  await access(path, constants.W_OK).catch((error: unknown) => {
    throw new StartError(
      `Gatehouse cannot write into ${path} (${String(error)}).\nMake it writable and start Gatehouse again, ${orElse}`,
    );
  });
  return realpath(path);
}

async function lockDataFolder(folder: string): Promise<() => Promise<void>> {
  const result = await lockFolder(folder);
  if ('release' in result) return result.release;
  const pid = result.pid ?? '<its process id>';
  throw new StartError(
    `Gatehouse is already running on ${folder} (process ${pid}).\n` +
      `Stop it with Ctrl-C where it was started, or: kill ${pid}\n` +
      'To run another one beside it: GATEHOUSE_DATA_DIR=.gatehouse-2, and 0 (any free one) for each GATEHOUSE_…_PORT',
  );
}

async function findHome(config: LocalSettings, dataFolder: string, report: (line: string) => void) {
  if (config.GATEHOUSE_DATABASE_URL !== undefined) return undefined;
  return findPostgresHome({ dataFolder, native: installedPostgres(), shared: sharedFolder, report });
}

/**
 * Refuses to create a database where an earlier start had one: the end of every start writes `demo.json`. An empty database beside it would
 * look like a working gateway that has lost every order.
 * @throws StartError
 */
function refuseToReplace(postgresData: string, dataFolder: string): void {
  if (!existsSync(join(dataFolder, demoFile))) return;
  throw new StartError(
    `Gatehouse has run with ${dataFolder}, but its database ${postgresData} does not exist. Put it back, for example by mounting its disk.\n` +
      'If it is lost, restore a backup: docs/operating/backup.md\n' +
      'If the database runs elsewhere, name it: GATEHOUSE_DATABASE_URL=postgres://… npm start\n' +
      `To start over without any of the data, remove the folder ${dataFolder}.`,
  );
}

/**
 * Starts all of Gatehouse on this machine, and returns when it can be used.
 * @throws StartError, SettingsError or the signal's reason; nothing is left running then
 */
export async function startGatehouse(options: StartOptions): Promise<Gatehouse> {
  try {
    return await startAll(options);
  } catch (error) {
    if (!hasCode(error, 'ENOSPC') && !hasCode(error, 'EDQUOT')) throw error;
    throw new StartError(
      `There is no room on the disk of ${options.dataFolder} (${String(error)}).\nFree space on it, and start again.`,
    );
  }
}

async function startAll(options: StartOptions): Promise<Gatehouse> {
  const { config, report, warn, signal } = options;
  const dataFolder = await makeDataFolder(options.dataFolder);
  const locks = [await lockDataFolder(dataFolder)];
  const stack = await stackProcesses({ logFolder: join(dataFolder, 'logs'), report, warn, signal });
  const stop = async () => {
    await stack.stop();
    for (const release of locks) await release();
  };
  try {
    const otherDatabase = await compareDatabase(dataFolder, config.GATEHOUSE_DATABASE_URL);
    const home = await findHome(config, dataFolder, report);
    // A copied data folder still points to the database of the original.
    if (home !== undefined && existsSync(home.data)) locks.push(await lockDataFolder(home.data));
    await endLeftovers({ dataFolder, postgresData: home?.data, report, deadlineMs: leftoversDeadlineMs });
    const hasDatabase = home !== undefined && existsSync(home.data);
    if (home !== undefined && !hasDatabase) refuseToReplace(home.data, dataFolder);
    const secrets = await readOrMakeSecrets(dataFolder, hasDatabase, randomBytes);
    if (otherDatabase !== undefined) {
      const own = { port: config.GATEHOUSE_POSTGRES_PORT, password: secrets.database_password };
      refuseOwnDatabase(dataFolder, config.GATEHOUSE_DATABASE_URL ?? '', databaseUrl(own));
      warn(otherDatabase);
    }
    const place = { dataFolder, home, secrets, addresses: await chooseAddresses(config) };
    // All processes read their settings before any of them starts, so that an invalid one is found early.
    processesIn(undefined, options, place);
    const bundling = findPrograms(
      options.environment,
      options.projectRoot,
      join(dataFolder, 'programs'),
      (reason) =>
        warn(`the processes start later and use more memory, because they cannot be bundled: ${reason}`),
    );
    await stack.start(...(await serverProcesses(options, place)));
    if (home !== undefined) await rememberPostgresHome(dataFolder, home);
    const { core, simulator, clients } = processesIn(await bundling, options, place);
    await stack.start(core, simulator);
    await stack.start(...clients);

    const { seeded, isRecovering } = await prepareDemo(dataFolder, secrets, place.addresses, options);
    const demo = demoOf(options.environment, place, seeded);
    await rememberDatabase(dataFolder, config.GATEHOUSE_DATABASE_URL);
    await writePrivateFile(join(dataFolder, demoFile), `${JSON.stringify(demo, undefined, 2)}\n`);
    return { demo, isRecovering, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The facts that a start has found or chosen before it starts a process. */
interface StartPlace {
  readonly dataFolder: string;
  /** Undefined if the database runs elsewhere. */
  readonly home: Awaited<ReturnType<typeof findHome>>;
  readonly secrets: Secrets;
  readonly addresses: Addresses;
}

const databaseOf = ({ addresses, secrets }: StartPlace) => ({
  port: addresses.ports.postgres,
  password: secrets.database_password,
});

const brokerOf = ({ addresses, secrets }: StartPlace) => ({
  port: addresses.ports.nats,
  password: secrets.nats_password,
});

/** PostgreSQL and NATS, unless they run elsewhere. */
async function serverProcesses(
  { config, report, signal }: StartOptions,
  place: StartPlace,
): Promise<ProcessSpec[]> {
  const { dataFolder, home } = place;
  const marker = { [dataFolderMarker]: dataFolder };
  const servers: ProcessSpec[] = [];
  if (home !== undefined)
    servers.push(postgresProcess({ ...databaseOf(place), home, marker, durable: true }));
  if (config.GATEHOUSE_NATS_URL === undefined) {
    const program = await findOrInstallNatsServer({ report, signal });
    servers.push(natsProcess({ ...brokerOf(place), program, folder: join(dataFolder, 'nats'), marker }));
  }
  return servers;
}

/**
 * The environment without the variables of PostgreSQL's clients, such as PGSSLMODE and PGOPTIONS, which pg reads too. They are meant for
 * other databases of this user.
 */
const withoutPostgresClient = (environment: ProcessEnvironment): ProcessEnvironment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('PG')));

/** Gatehouse's own processes. They run the bundles in `programFolder`, or the sources without it. */
function processesIn(
  programFolder: string | undefined,
  { config, environment, projectRoot }: StartOptions,
  place: StartPlace,
) {
  const { dataFolder, addresses, secrets } = place;
  const settings = {
    projectRoot,
    dataFolder,
    addresses,
    secrets,
    programFolder,
    environment: place.home === undefined ? environment : withoutPostgresClient(environment),
    databaseUrl: config.GATEHOUSE_DATABASE_URL ?? databaseUrl(databaseOf(place)),
    natsUrl: config.GATEHOUSE_NATS_URL ?? natsUrl(brokerOf(place)),
  };
  return {
    core: coreProcess(settings),
    simulator: walletSimulatorProcess(settings),
    clients: [
      restFacadeProcess(settings),
      checkoutProcess(settings),
      dashboardProcess(settings),
      walletsProcess(settings),
      webhooksProcess(settings),
    ],
  };
}

function demoOf(environment: ProcessEnvironment, { addresses, secrets }: StartPlace, seeded: SeededDemo) {
  const { operator = '', writer = '', reader = '' } = secrets.service_tokens;
  const { rest, checkout, dashboard, simulator, walletCallback, grpc, connect, webhooks, metrics } =
    addresses;
  return {
    rest,
    checkout,
    dashboard,
    simulator,
    checkout_base_url: environment['GATEHOUSE_CHECKOUT_BASE_URL'] || checkout,
    dashboard_base_url: environment['GATEHOUSE_DASHBOARD_BASE_URL'] || dashboard,
    wallet_callbacks: walletCallback,
    wallets: walletAccess(simulator, secrets.simulated_wallets),
    grpc,
    connect,
    webhooks,
    metrics,
    ...seeded,
    tokens: { operator, writer, reader },
  };
}
