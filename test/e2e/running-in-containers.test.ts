import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { choosePorts } from '../../src/main/local/free-port.ts';
import { findOrInstallNatsServer } from '../../src/main/local/nats-binary.ts';
import { startTemporaryPostgres } from '../../src/main/local/temporary-servers.ts';
import type { TemporaryServer } from '../../src/main/local/temporary-servers.ts';
import { readCheckoutSettings } from '../../src/checkout/settings.ts';
import { readCoreSettings } from '../../src/core/settings.ts';
import { readDashboardSettings } from '../../src/dashboard/settings.ts';
import { readRestFacadeSettings } from '../../src/rest-facade/settings.ts';
import { readWalletsSettings } from '../../src/wallets/settings.ts';
import { readWalletSimulatorSettings } from '../../src/wallet-simulator/settings.ts';
import { readWebhooksSettings } from '../../src/webhooks/settings.ts';
import { readComposeFile } from '../support/compose-file.ts';
import type { ComposeService } from '../support/compose-file.ts';
import { createDashboardVisitor } from '../support/dashboard-visitor.ts';
import { startNode } from '../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const newFolder = temporaryFolders();

/** The setting of each port that a process listens on in its container. */
const portSettings: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  core: { 50051: 'GATEHOUSE_CORE_GRPC_PORT', 50052: 'GATEHOUSE_CORE_CONNECT_PORT' },
  'rest-facade': { 8080: 'GATEHOUSE_REST_PRODUCTION_PORT', 8081: 'GATEHOUSE_REST_SANDBOX_PORT' },
  checkout: { 8082: 'GATEHOUSE_CHECKOUT_PORT' },
  dashboard: { 8083: 'GATEHOUSE_DASHBOARD_PORT' },
  wallets: { 8084: 'GATEHOUSE_WALLET_CALLBACK_PORT' },
  webhooks: { 50053: 'GATEHOUSE_WEBHOOKS_GRPC_PORT', 50054: 'GATEHOUSE_WEBHOOKS_CONNECT_PORT' },
  'wallet-simulator': { 8090: 'GATEHOUSE_SIMULATOR_PORT' },
};

/** The commands of the page's section on containers, in their order: one string for each block. */
async function blocksOfPage(): Promise<{ readonly section: string; readonly blocks: readonly string[] }> {
  const page = await readFile(join(root, 'docs/operating/running.md'), 'utf8');
  const section = page.slice(page.indexOf('### Containers'));
  return { section, blocks: [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block) };
}

const execute = (
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<{ exitCode: number | string; stdout: string; stderr: string }> =>
  new Promise((done) =>
    execFile(program, args, options, (error, stdout, stderr) =>
      done({ exitCode: error?.code ?? 0, stdout, stderr }),
    ),
  );

/** The `.env` that the page's own command makes. */
async function makeSecrets(block: string): Promise<Readonly<Record<string, string>>> {
  const folder = await newFolder();
  const command = block.slice(0, block.indexOf('docker compose'));
  const { exitCode, stderr } = await execute('sh', ['-c', command], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const lines = (await readFile(join(folder, '.env'), 'utf8')).trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split('=', 2) as [string, string]));
}

const readers = {
  core: readCoreSettings,
  'rest-facade': readRestFacadeSettings,
  checkout: readCheckoutSettings,
  dashboard: readDashboardSettings,
  wallets: readWalletsSettings,
  webhooks: readWebhooksSettings,
  'wallet-simulator': readWalletSimulatorSettings,
};

describe('what docs/operating/running.md says of containers, done with the processes that docker-compose.yml describes', () => {
  let section: string;
  let blocks: readonly string[];
  let services: readonly ComposeService[];
  let database: TemporaryServer | undefined;
  let broker: ChildProcess | undefined;
  const processes: GatehouseProcess[] = [];
  /** The mounted configuration of wallets, with addresses of this machine. */
  let walletsFile = '';
  /** Where each service's port is on this machine, by "service:port". */
  const ports = new Map<string, number>();

  /** Names of services, and what they publish, as addresses of this machine. */
  const onThisMachine = (value: string): string =>
    value
      .replace(/^postgres:.*@postgres:5432\/gatehouse$/, database?.url ?? '')
      .replace(
        /(?:dns:\/\/\/)?\b([a-z][a-z-]*|127\.0\.0\.1):(\d{4,5})\b/g,
        (written, host: string, port: string) => {
          const publisher = services.find((each) => each.ports.includes(Number(port)))?.name;
          const found = ports.get(`${host === '127.0.0.1' ? publisher : host}:${port}`);
          return found === undefined ? written : `127.0.0.1:${found}`;
        },
      );

  const environmentOf = (name: string): Readonly<Record<string, string>> => {
    const environment: ComposeService['environment'] =
      services.find((each) => each.name === name)?.environment ?? {};
    const listening: [string, string][] = Object.entries(portSettings[name] ?? {}).map(([port, setting]) => [
      setting,
      String(ports.get(`${name}:${port}`)),
    ]);
    return {
      ...Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, onThisMachine(value)])),
      ...(environment['GATEHOUSE_WALLETS_FILE'] === undefined ? {} : { GATEHOUSE_WALLETS_FILE: walletsFile }),
      ...Object.fromEntries(listening),
    };
  };

  beforeAll(async () => {
    ({ section, blocks } = await blocksOfPage());
    const [first = ''] = blocks;
    const profiles = [...first.matchAll(/--profile (\S+)/g)].map((match) => match[1] ?? '');
    services = (await readComposeFile(await makeSecrets(first))).filter(
      (service) =>
        service.profiles.length === 0 || service.profiles.some((profile) => profiles.includes(profile)),
    );
    const wanted = [
      'nats:4222',
      ...Object.entries(portSettings).flatMap(([name, settings]) =>
        Object.keys(settings).map((port) => `${name}:${port}`),
      ),
    ];
    const chosen = await choosePorts(wanted.map((setting) => ({ setting, host: '127.0.0.1', port: 0 })));
    wanted.forEach((name, index) => ports.set(name, chosen[index] ?? 0));
    const mounted = services.find(({ name }) => name === 'core')?.environment['GATEHOUSE_WALLETS_FILE'] ?? '';
    // With the logos, whose paths are relative to the file.
    const mountedFolder = await newFolder();
    await cp(join(root, 'deploy/wallets'), mountedFolder, { recursive: true });
    walletsFile = join(mountedFolder, basename(mounted));
    const configuration = await readFile(walletsFile, 'utf8');
    await writeFile(
      walletsFile,
      configuration.replace(/http:\/\/[^/"]+/g, (url) => `http://${onThisMachine(url.slice(7))}`),
    );
    // One of its own: doctor finds fault with a server that is quick and forgetful, as that of other tests is.
    database = await startTemporaryPostgres({ durable: true });

    const program = await findOrInstallNatsServer({
      report: () => undefined,
      signal: new AbortController().signal,
    });
    const folder = await newFolder();
    const nats = services.find(({ name }) => name === 'nats')?.command ?? [];
    broker = spawn(
      program,
      [
        ...nats.map((word) => word.replace('=/data', `=${folder}`)),
        ...['--addr', '127.0.0.1', '--port', String(ports.get('nats:4222'))],
      ],
      { stdio: 'ignore' },
    );
    const start = async ({ name, command }: ComposeService): Promise<void> => {
      const [node, ...args] = command;
      expect(node).toBe('node');
      processes.push(await startNode(name, args, environmentOf(name)));
    };
    // Those that the page's commands need; what the others are given is read in a test below.
    for (const name of ['core', 'webhooks', 'dashboard']) {
      const service = services.find((each) => each.name === name);
      if (service !== undefined) await start(service);
    }
  });

  afterAll(async () => {
    await Promise.all(processes.map(({ stop }) => stop()));
    if (broker?.exitCode === null) {
      broker.kill();
      await once(broker, 'exit');
    }
    await database?.stop();
  });

  /** Runs a line such as `docker compose exec core gatehouse …` as that container would. */
  async function runLine(line: string) {
    const [, service = '', ...words] = /^docker compose exec (\S+) gatehouse (.*)$/.exec(line) ?? [];
    const args = (words[0]?.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"(.*)"$/, '$1'));
    expect(args).not.toEqual([]);
    return execute(join(root, 'scripts/gatehouse'), args, {
      cwd: '/',
      env: { PATH: process.env['PATH'], ...environmentOf(service) },
    });
  }

  test('makes a merchant with a key and a webhook secret, invites the first people, who sign in, and finds all well', async () => {
    const lines = (blocks[1] ?? '').trim().split('\n');
    const links = new Map<string, string>();
    for (const line of lines) {
      const { exitCode, stdout, stderr } = await runLine(line);
      const failed = exitCode === 0 ? '' : stdout;
      expect({ line, exitCode, stderr, failed }).toEqual({ line, exitCode: 0, stderr: '', failed: '' });
      const [, email] = / user invite (\S+)/.exec(line) ?? [];
      if (email === undefined) continue;
      const [link = ''] = /^http:\/\/\S+$/m.exec(stdout) ?? [];
      links.set(email, link);
    }
    expect(lines.map((line) => line.split(' ').slice(5, 7).join(' '))).toEqual(
      expect.arrayContaining(['merchant create', 'key issue', 'user invite']),
    );
    expect(links.size).toBe(2);

    for (const [email, link] of links) {
      const { origin, pathname } = new URL(link);
      expect(origin).toBe(`http://127.0.0.1:${ports.get('dashboard:8083')}`);
      const password = 'a sentence that nobody guesses';
      const invited = createDashboardVisitor(origin);
      await invited.get(pathname);
      const accepted = await invited.post(pathname, {
        name: 'First person',
        password,
        password_again: password,
      });
      expect({ email, status: accepted.status, body: accepted.body }).toMatchObject({ email, status: 303 });

      const later = createDashboardVisitor(origin);
      const signedIn = await later.signIn({ email, password });
      expect(signedIn.status).toBe(303);
      expect((await later.get('/')).body).not.toContain('name="password"');
    }
  });

  test('names every port that is published', () => {
    for (const { name, ports: published } of services)
      for (const port of published)
        expect({ name, isNamed: section.includes(`${port}`) }).toEqual({ name, isNamed: true });
    expect(services.flatMap((service) => service.ports).sort()).toEqual([8080, 8081, 8082, 8083, 8084, 8090]);
  });

  test('every process has all the settings that it needs', () => {
    const ours = services.filter(({ name }) => name !== 'postgres' && name !== 'nats');
    expect(ours.map(({ name }) => name).sort()).toEqual(Object.keys(readers).sort());
    for (const [name, read] of Object.entries(readers)) {
      const { environment, command } = services.find((service) => service.name === name) ?? {};
      expect(() => read(environment ?? {})).not.toThrow();
      expect(existsSync(join(root, command?.at(-1) ?? ''))).toBe(true);
    }
  });

  test('every process that counts callers by address has the setting for its proxies', () => {
    const setting = 'GATEHOUSE_TRUSTED_PROXIES';
    for (const [name, read] of Object.entries(readers)) {
      const { environment } = services.find((service) => service.name === name) ?? { environment: {} };
      let reads = false;
      try {
        read({ ...environment, [setting]: 'no network' });
      } catch (error) {
        reads = String(error).includes(setting);
      }
      expect({ name, passed: setting in environment }).toEqual({ name, passed: reads });
    }
  });
});
