import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readComposeFile } from '../../support/compose-file.ts';

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
  const metrics = await Promise.all(
    processes.map(async (name) => (await settingsOf(name)).get('GATEHOUSE_METRICS_PORT') ?? name),
  );
  expect(new Set(metrics).size).toBe(processes.length);
});

const hasAnalyzer = spawnSync('systemd-analyze', ['--version'], { stdio: 'ignore' }).status === 0;

/** Without systemd's tools these are skipped. */
(hasAnalyzer ? describe : describe.skip)('systemd-analyze', () => {
  let folder: string;
  const names = [
    ...processes.map((name) => `gatehouse@${name}.service`),
    ...['gatehouse-secrets.service', 'gatehouse-nats.service'],
  ];
  const analyze = (...args: readonly string[]) =>
    spawnSync('systemd-analyze', args, { cwd: folder, encoding: 'utf8' });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-units-'));
    await cp(units, folder, { recursive: true });
    // The programs must exist: those of this checkout, and any in place of NATS.
    for (const name of (await readdir(folder)).filter((each) => each.endsWith('.service'))) {
      const text = await readFile(join(folder, name), 'utf8');
      const here = text.replaceAll('/opt/gatehouse', root).replace('/usr/sbin/nats-server', '/bin/true');
      await writeFile(join(folder, name), here);
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('finds no fault with the units, and would find one', async () => {
    const paths = [...names, 'gatehouse.target'].map((name) => `./${name}`);
    expect(analyze('verify', ...paths)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const mistaken = join(folder, 'gatehouse-mistaken.service');
    await writeFile(mistaken, '[Service]\nExecStart=/bin/true\nProtectSytem=strict\n');
    expect(analyze('verify', './gatehouse-mistaken.service').stderr).toContain('ProtectSytem');
  });

  test('rates the exposure of every service below 1.5 of 10', () => {
    for (const name of names) {
      const { status, stdout } = analyze('security', '--offline=true', '--threshold=15', `./${name}`);
      const [rating] = /Overall exposure level.*/.exec(stdout) ?? [];
      expect({ name, rating, status }).toMatchObject({ name, status: 0 });
    }
  });
});
