import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import type pg from 'pg';
import { findOrInstallNatsServer } from '../../src/main/local/nats-binary.ts';
import { startTemporaryPostgres } from '../../src/main/local/temporary-servers.ts';
import { composeFiles, readComposeFile } from './compose-file.ts';
import type { ComposeService } from './compose-file.ts';
import type { GatehouseProcess } from './gatehouse-process.ts';
import { openOneMachine } from './one-machine.ts';
import type { DeployedProcess, OneMachine } from './one-machine.ts';
import { programFolder } from './servers.ts';
import { waitUntil } from './wait-until.ts';
import { connectToDatabase } from './database-connections.ts';
import { postJson } from './post-json.ts';

const root = resolve(import.meta.dirname, '../..');

/** The output of `docker compose run --rm first-start show`. */
export interface FirstStart {
  readonly merchant: { readonly test_key: string };
  readonly users: Readonly<
    Record<'owner' | 'operator', { readonly email: string; readonly password: string }>
  >;
}

/** All services of Compose's files, as plain processes of this machine. */
export interface ComposedGatehouse {
  readonly services: readonly ComposeService[];
  /** The entry point and the health check of the Dockerfile. */
  readonly image: { readonly entrypoint: readonly string[]; readonly healthcheck: readonly string[] };
  readonly folder: string;
  readonly machine: OneMachine;
  readonly deployed: (name: string, command?: readonly string[]) => DeployedProcess;
  /** The output of `first-start`, and the demo data that it made. */
  readonly reported: string;
  readonly firstStart: FirstStart;
  /** Pays an order in the sandbox by the merchant API, and returns its status once it has ended. */
  readonly pay: (order: {
    readonly order_number: string;
    readonly [field: string]: string;
  }) => Promise<string>;
  /** Runs the health check of each container that runs. */
  readonly checkHealth: () => Promise<
    readonly ({ readonly name: string } & Awaited<ReturnType<OneMachine['run']>>)[]
  >;
  readonly stop: () => Promise<void>;
}

/** The parts that are started before Gatehouse's processes. */
export type Prepared = Pick<ComposedGatehouse, 'services' | 'image' | 'machine'> & {
  /** A superuser's connection. */
  readonly client: pg.Client;
};

export interface ComposeOptions {
  readonly files?: readonly string[];
  /** Makes what must be in the folder before the start. The result is what `.env` contains. */
  readonly prepare?: (folder: string) => Promise<Readonly<Record<string, string>>>;
  /** Configures PostgreSQL, as its image would. */
  readonly beforeProcesses?: (prepared: Prepared) => Promise<void>;
}

/** The words of a list in the Dockerfile. */
async function readImage(): Promise<ComposedGatehouse['image']> {
  const dockerfile = await readFile(join(root, 'Dockerfile'), 'utf8');
  const wordsOf = (pattern: RegExp) => JSON.parse(pattern.exec(dockerfile)?.[1] ?? '') as readonly string[];
  return {
    entrypoint: wordsOf(/^ENTRYPOINT (\[.*\])$/m),
    healthcheck: wordsOf(/^HEALTHCHECK .* CMD (\[.*\])$/m),
  };
}

/** Copies the folders of the project that services mount, with addresses of this machine. */
async function mountFolders(
  services: readonly ComposeService[],
  folder: string,
  machine: OneMachine,
): Promise<void> {
  const mounts = services.flatMap(({ name, sources }) => (name === 'caddy' ? [] : Object.entries(sources)));
  for (const [target, source] of mounts.filter(([, each]) => /^[./]/.test(each)))
    await cp(resolve(root, source), join(folder, target), { recursive: true });
  for (const file of ['etc/gatehouse/wallets/simulated.json', 'etc/nats/nats-server.conf']) {
    const mounted = join(folder, file);
    const text = (await readFile(mounted, 'utf8'))
      .replace('"/var/lib/nats"', `"${folder}/var/lib/nats"`)
      .replace('port: 4222', `port: ${machine.portOf('nats:4222')}`);
    await writeFile(mounted, machine.here(text));
  }
}

/** Starts everything as `docker compose up` would. Its folder and servers are its own. */
export async function startComposed({
  files = composeFiles,
  prepare = async () => ({}),
  beforeProcesses = async () => undefined,
}: ComposeOptions = {}): Promise<ComposedGatehouse> {
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-containers-'));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const image = await readImage();
    const services = await readComposeFile(await prepare(folder), files);
    const deployed = (name: string, command?: readonly string[]): DeployedProcess => {
      const service = services.find((each) => each.name === name);
      if (service === undefined) throw new Error(`${files.join(' and ')} have no service ${name}`);
      const entrypoint = service.entrypoint.length > 0 ? service.entrypoint : image.entrypoint;
      return {
        name,
        // As the image sets it. The test run has bundled the programs.
        environment: { ...service.environment, GATEHOUSE_PROGRAMS: programFolder() ?? '' },
        command: command ?? [...entrypoint, ...service.command],
      };
    };
    // One of its own: doctor finds fault with a server that is quick and forgetful, as that of other tests is.
    const database = await startTemporaryPostgres({ durable: true });
    closers.push(database.stop);
    const machine = await openOneMachine(folder, { 'postgres:5432': Number(new URL(database.url).port) });
    await mountFolders(services, folder, machine);
    await mkdir(join(folder, 'var/lib/gatehouse/wallet-simulator'), { recursive: true });

    /** Runs a process to its end, and returns what it printed. */
    const run = async (process_: DeployedProcess): Promise<string> => {
      const { exitCode, stdout, stderr } = await machine.run(process_);
      if (exitCode !== 0 || stderr !== '')
        throw new Error(`${process_.name} exited with ${exitCode}: ${stderr}`);
      return stdout;
    };
    await run(deployed('make-secrets'));

    const { environment } = deployed('postgres');
    const password = await readFile(machine.here(environment['POSTGRES_PASSWORD_FILE'] ?? ''), 'utf8');
    const client = await connectToDatabase(database.url);
    try {
      await client.query(`ALTER ROLE gatehouse PASSWORD '${password}'`);
      await beforeProcesses({ services, image, machine, client });
    } finally {
      await client.end();
    }
    const program = await findOrInstallNatsServer({
      report: () => undefined,
      signal: new AbortController().signal,
    });
    const nats = deployed('nats');
    const [shell = '', ...words] = nats.command.map(machine.here);
    const path = [dirname(program), process.env['PATH']].join(delimiter);
    const broker = spawn(shell, words, {
      stdio: 'ignore',
      env: { ...machine.environmentOf(nats), PATH: path },
    });
    closers.push(async () => {
      if (broker.exitCode !== null) return;
      broker.kill();
      await once(broker, 'exit');
    });
    const processes: GatehouseProcess[] = [];
    closers.push(() => Promise.all(processes.map((each) => each.stop())));
    for (const name of [
      ...['core', 'wallet-simulator', 'webhooks'],
      ...['rest-facade', 'checkout', 'dashboard', 'wallets'],
    ])
      processes.push(await machine.start(deployed(name)));
    const first = deployed('first-start');
    const reported = await run(first);
    const firstStart = JSON.parse(
      await run(deployed('first-start', [...first.command, 'show'])),
    ) as FirstStart;

    const post = async (requestPath: string, body: object): Promise<Response> =>
      postJson(`http://127.0.0.1:${machine.portOf('rest-facade:8081')}${requestPath}`, body, {
        apiKey: firstStart.merchant.test_key,
      });
    const pay: ComposedGatehouse['pay'] = async (order) => {
      const begun = await post('/api/v1/direct?payment_option=walleta_ussd', order);
      if (begun.status !== 201) throw new Error(`${begun.status} ${await begun.text()}`);
      return waitUntil('the order is not pending', async () => {
        const verified = await post('/api/v1/verify', { order_number: order.order_number });
        const { data } = (await verified.json()) as { readonly data: { readonly status: string } };
        return data.status === 'PENDING' ? undefined : data.status;
      });
    };
    const checkHealth: ComposedGatehouse['checkHealth'] = async () => {
      const results = [];
      for (const { name, healthcheck, profiles, isScaledToNone } of services) {
        // PostgreSQL's image has its own program, which this machine's PostgreSQL lacks.
        if (healthcheck === undefined || isScaledToNone || profiles.length > 0 || name === 'postgres')
          continue;
        const command = healthcheck.length > 0 ? healthcheck : image.healthcheck;
        results.push({ name, ...(await machine.run(deployed(name, command))) });
      }
      return results;
    };
    return {
      ...{ services, image, folder, machine, deployed },
      ...{ reported, firstStart, pay, checkHealth, stop },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
