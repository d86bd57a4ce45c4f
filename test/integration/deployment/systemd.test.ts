import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { composeFilesWithTls, readComposeFile } from '../../support/compose-file.ts';

const root = resolve(import.meta.dirname, '../../..');
const units = join(root, 'deploy/systemd');
const processes = [
  ...['checkout', 'core', 'dashboard', 'rest-facade', 'wallet-simulator', 'wallets', 'webhooks'],
];

/** The assignments of a unit or an environment file, in their order. */
async function assignmentsOf(file: string): Promise<readonly (readonly [key: string, value: string])[]> {
  const text = await readFile(join(units, file), 'utf8');
  return [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]);
}

/** The settings that a process has, in units of systemd. */
async function settingsOf(name: string): Promise<ReadonlyMap<string, string>> {
  const own = await assignmentsOf(`gatehouse@${name}.service.d/process.conf`);
  const ofUnits = [...(await assignmentsOf('gatehouse@.service')), ...own]
    .filter(([key]) => key === 'Environment')
    .flatMap(([, value]) => value.split(' '))
    .map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)] as const);
  return new Map([...(await assignmentsOf('gatehouse.env')), ...ofUnits]);
}

test.each(['gatehouse@.service', 'gatehouse-nats.service'])(
  'systemd starts %s again for as long as it takes',
  async (name) => {
    expect(await assignmentsOf(name)).toEqual(
      expect.arrayContaining([
        ['StartLimitIntervalSec', '0'],
        ['Restart', 'always'],
      ]),
    );
  },
);

test.each(['gatehouse@.service', 'gatehouse-nats.service'])(
  '%s waits for the secrets, and keeps the former ones when new ones are refused',
  async (name) => {
    const assignments = await assignmentsOf(name);
    const keysWith = (unit: string): readonly string[] =>
      assignments.flatMap(([key, value]) => (value.split(' ').includes(unit) ? [key] : [])).sort();
    // Requires= and its like would stop the process before make-secrets reads the file.
    expect(keysWith('gatehouse-secrets.service')).toEqual(['After', 'Wants']);
  },
);

test('NATS exits with 0 on the signal with which its unit stops it', async () => {
  const signals = (await assignmentsOf('gatehouse-nats.service')).flatMap(([key, value]) =>
    key === 'KillSignal' ? [value as NodeJS.Signals] : [],
  );
  const nats = spawn('nats-server', ['--addr', '127.0.0.1', '--port', '-1']);
  try {
    const exited = once(nats, 'exit');
    for await (const line of createInterface({ input: nats.stderr })) {
      if (line.includes('Server is ready')) break;
    }
    nats.kill(signals[0] ?? 'SIGTERM');
    expect(await exited).toEqual([0, null]);
  } finally {
    nats.kill('SIGKILL');
  }
});

test('each process is a user of its own, because systemd names a dynamic user by the part of the unit in front of the @', async () => {
  expect(await assignmentsOf('gatehouse@.service')).toEqual(
    expect.arrayContaining([
      ['DynamicUser', 'yes'],
      ['User', 'gatehouse-%i'],
    ]),
  );
});

test('each process has the settings of its container, with its secrets from its own folder', async () => {
  const services = await readComposeFile({});
  const folders = (await readdir(units)).flatMap(
    (name) => /^gatehouse@(.+)\.service\.d$/.exec(name)?.[1] ?? [],
  );
  expect(folders.sort()).toEqual(processes);
  // On one machine, processes find each other at the default addresses.
  const isElsewhere = (setting: string): boolean =>
    /_ADDRESSES$|^GATEHOUSE_METRICS_HOST$|^GATEHOUSE_SERVICE_TOKEN_FILE$/.test(setting);
  for (const name of processes) {
    const { environment = {} } = services.find((service) => service.name === name) ?? {};
    const settings = await settingsOf(name);
    const needed = Object.entries(environment).filter(([, value]) => value !== '');
    const missing = needed.map(([setting]) => setting).filter((setting) => !settings.has(setting));
    expect({ name, missing: missing.filter((setting) => !isElsewhere(setting)) }).toEqual({
      name,
      missing: [],
    });

    const own = await assignmentsOf(`gatehouse@${name}.service.d/process.conf`);
    const credentials = own.flatMap(([key, value]) => (key === 'LoadCredential' ? [value] : []));
    expect(credentials).toEqual(
      credentials.map((each) => `${each.split(':')[0]}:/etc/gatehouse/secrets/${name}/${each.split(':')[0]}`),
    );
    const files = [...settings].flatMap(([setting, value]) =>
      value.startsWith('%d/') ? [[setting, value]] : [],
    );
    expect(files).toEqual(
      credentials.map((each) => [`${each.split(':')[0]}_FILE`, `%d/${each.split(':')[0]}`]),
    );
    const needsToken = environment['GATEHOUSE_SERVICE_TOKEN_FILE'] !== undefined && name !== 'core';
    expect({ name, hasToken: settings.has('GATEHOUSE_SERVICE_TOKEN_FILE') }).toEqual({
      name,
      hasToken: needsToken,
    });
  }
  // Orders then accept the currencies of the wallets.
  expect((await settingsOf('core')).has('GATEHOUSE_CURRENCIES')).toBe(false);
  const metrics = await Promise.all(
    processes.map(async (name) => (await settingsOf(name)).get('GATEHOUSE_METRICS_PORT') ?? name),
  );
  expect(new Set(metrics).size).toBe(processes.length);
});

test('the drop-ins for TLS have the settings of docker-compose.tls.yml, and name every mounted file', async () => {
  const services = await readComposeFile({}, composeFilesWithTls);
  const settingsIn = async (file: string): Promise<readonly string[]> =>
    (await assignmentsOf(`tls/${file}.service.d/tls.conf`))
      .flatMap(([key, value]) => (key === 'Environment' ? value.split(' ') : []))
      .map((each) => each.replace('/run/gatehouse-tls/', '/etc/gatehouse/tls/<process>/'));
  const isTls = ([setting]: readonly [string, string]): boolean => /_TLS(_|$)/.test(setting);
  for (const [file, name] of [
    ['gatehouse@', 'core'],
    ['gatehouse@', 'webhooks'],
    ['gatehouse-nats', 'nats'],
    ['gatehouse-secrets', 'make-secrets'],
  ] as const) {
    const { environment = {} } = services.find((service) => service.name === name) ?? {};
    const wanted = Object.entries(environment).filter(isTls);
    expect({ file, settings: [...(await settingsIn(file))].sort() }).toEqual({
      file,
      settings: wanted.map(([key, value]) => `${key}=${value.replace(`/${name}/`, '/<process>/')}`).sort(),
    });
  }
  for (const [file, folder] of [
    ['gatehouse@', '-/etc/gatehouse/tls/%i'],
    ['gatehouse-nats', '/etc/gatehouse/tls/nats'],
  ] as const) {
    const written = await assignmentsOf(`tls/${file}.service.d/tls.conf`);
    expect(written).toContainEqual(['BindReadOnlyPaths', `${folder}:/run/gatehouse-tls`]);
  }
  const nats = await assignmentsOf('tls/gatehouse-nats.service.d/tls.conf');
  const [before = ''] = (await assignmentsOf('gatehouse-nats.service')).flatMap(([key, value]) =>
    key === 'ExecStart' ? [value] : [],
  );
  expect(nats.flatMap(([key, value]) => (key === 'ExecStart' ? [value] : []))).toEqual([
    '',
    before.replace('nats-server.conf', 'nats-server-tls.conf'),
  ]);
});

const hasAnalyzer = spawnSync('systemd-analyze', ['--version'], { stdio: 'ignore' }).status === 0;

/** Without systemd's tools these are skipped. */
(hasAnalyzer ? describe : describe.skip)('systemd-analyze', () => {
  let folder: string;
  let withTls: string;
  const names = [
    ...processes.map((name) => `gatehouse@${name}.service`),
    ...['gatehouse-secrets.service', 'gatehouse-nats.service'],
  ];
  const analyzeIn = (cwd: string, ...args: readonly string[]) =>
    spawnSync('systemd-analyze', args, { cwd, encoding: 'utf8' });
  const analyze = (...args: readonly string[]) => analyzeIn(folder, ...args);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-units-'));
    await cp(units, folder, { recursive: true });
    // The programs must exist: those of this checkout, and any in place of NATS.
    const files = await readdir(folder, { recursive: true });
    for (const name of files.filter((each) => /\.(service|conf)$/.test(each))) {
      const text = await readFile(join(folder, name), 'utf8');
      const here = text.replaceAll('/opt/gatehouse', root).replace('/usr/sbin/nats-server', '/bin/true');
      await writeFile(join(folder, name), here);
    }
    withTls = await mkdtemp(join(tmpdir(), 'gatehouse-units-'));
    await cp(folder, withTls, { recursive: true });
    await cp(join(folder, 'tls'), withTls, { recursive: true });
  });
  afterAll(() => Promise.all([folder, withTls].map((each) => rm(each, { recursive: true }))));

  test('systemd accepts the units, and finds a planted mistake in them', async () => {
    const paths = [...names, 'gatehouse.target'].map((name) => `./${name}`);
    expect(analyze('verify', ...paths)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const mistaken = join(folder, 'gatehouse-mistaken.service');
    await writeFile(mistaken, '[Service]\nExecStart=/bin/true\nProtectSytem=strict\n');
    expect(analyze('verify', './gatehouse-mistaken.service').stderr).toContain('ProtectSytem');
  });

  test('systemd accepts the drop-ins for TLS, and finds a planted mistake in them', async () => {
    const paths = names.map((name) => `./${name}`);
    expect(analyzeIn(withTls, 'verify', ...paths)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const nats = analyzeIn(
      withTls,
      'security',
      '--offline=true',
      '--threshold=15',
      './gatehouse-nats.service',
    );
    expect(nats.status).toBe(0);
    await writeFile(
      join(withTls, 'gatehouse@.service.d/mistaken.conf'),
      '[Service]\nBindReadOnlyPath=/etc\n',
    );
    expect(analyzeIn(withTls, 'verify', './gatehouse@core.service').stderr).toContain('BindReadOnlyPath');
  });

  test('systemd rates the exposure of every service below 1.5 of 10', () => {
    for (const name of names) {
      const { status, stdout } = analyze('security', '--offline=true', '--threshold=15', `./${name}`);
      const [rating] = /Overall exposure level.*/.exec(stdout) ?? [];
      expect({ name, rating, status }).toMatchObject({ name, status: 0 });
    }
  });
});
