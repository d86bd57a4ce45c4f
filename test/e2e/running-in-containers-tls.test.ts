import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmod, chown, copyFile, readFile, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openEventBus } from '../../src/contract/event-bus.ts';
import { openCertificateFiles } from '../../src/platform/tls/certificate-files.ts';
import { composeFilesWithTls } from '../support/compose-file.ts';
import { startComposed } from '../support/composed-gatehouse.ts';
import type { ComposedGatehouse, Prepared } from '../support/composed-gatehouse.ts';
import { waitUntil } from '../support/wait-until.ts';
import { keptLog } from '../support/kept-log.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');

/** Starts PostgreSQL's TLS with the settings and the files of its container, which the running server reads from its own folder. */
async function configurePostgres({ services, machine, client }: Prepared): Promise<void> {
  const { command = [], entrypoint = [] } = services.find(({ name }) => name === 'postgres') ?? {};
  const settings = command.flatMap((word) => {
    const [, name = '', value = ''] = /^((?:ssl|hba)\w*)=(.*)$/.exec(word) ?? [];
    return name === '' ? [] : [[name, value] as const];
  });
  const { rows } = await client.query<{ folder: string }>(`
    select current_setting('data_directory') as folder`);
  const data = rows[0]?.folder ?? '';
  const { uid, gid } = await stat(data);
  const [, source = '', target = ''] = /install .* (\S+\.key) (\S+\.key) /.exec(entrypoint.join(' ')) ?? [];
  for (const [name, value] of settings) {
    if (!name.endsWith('_file')) {
      await client.query(`alter system set ${name} = '${value}'`);
      continue;
    }
    // The entry point copies the key. Another value of `hba_file` would need a restart.
    const file = join(data, name === 'hba_file' ? 'pg_hba.conf' : name);
    await copyFile(machine.here(value === target ? source : value), file);
    await chmod(file, 0o600);
    await chown(file, uid, gid);
    if (name !== 'hba_file') await client.query(`alter system set ${name} = '${file}'`);
  }
  await client.query('select pg_reload_conf()');
}

describe('docker compose up with docker-compose.tls.yml, run as plain processes', () => {
  let composed: ComposedGatehouse;

  beforeAll(async () => {
    composed = await startComposed({
      files: composeFilesWithTls,
      async prepare(folder) {
        const certificates = join(folder, 'certificates');
        await run(join(root, 'scripts/make-certificates'), [certificates]);
        return { GATEHOUSE_CERTIFICATES: certificates };
      },
      beforeProcesses: configurePostgres,
    });
  });

  afterAll(() => composed.stop());

  const pathOf = (name: string, setting: string): string =>
    composed.machine.here(composed.deployed(name).environment[setting] ?? '');
  const urlOf = async (name: string, setting: string): Promise<string> =>
    composed.machine.here(await readFile(pathOf(name, `${setting}_FILE`), 'utf8'));

  test('a payment in the sandbox completes, and every connection to PostgreSQL and NATS has TLS', async () => {
    const order = { order_number: 'first', amount: '150.00', currency: 'ETB', phone: '+251911223344' };
    expect(await composed.pay(order)).toBe('COMPLETED');

    const client = new pg.Client({
      connectionString: (await urlOf('core', 'GATEHOUSE_DATABASE_URL')).replace(/\?.*$/, ''),
      ssl: {
        ca: await readFile(pathOf('core', 'GATEHOUSE_TLS_CA_FILE')),
        cert: await readFile(pathOf('core', 'GATEHOUSE_TLS_CERTIFICATE_FILE')),
        key: await readFile(pathOf('core', 'GATEHOUSE_TLS_KEY_FILE')),
      },
    });
    await client.connect();
    const { rows } = await client.query<{ process: string; ssl: boolean; shown: string | null }>(`
      select distinct split_part(application_name, ' ', 1) as process, ssl, client_dn as shown
      from pg_stat_ssl join pg_stat_activity using (pid) where application_name like 'gatehouse-%' order by 1`);
    await client.end();
    expect(rows).toEqual([
      { process: 'gatehouse-core', ssl: true, shown: '/CN=core' },
      { process: 'gatehouse-webhooks', ssl: true, shown: '/CN=webhooks' },
    ]);

    const monitoring = `http://127.0.0.1:${composed.machine.portOf('nats:8222')}/connz`;
    const { connections } = (await (await fetch(monitoring)).json()) as {
      readonly connections: readonly { readonly name: string; readonly tls_version?: string }[];
    };
    const clients = connections.map(({ name, tls_version: version }) => `${name.split(' ')[0]} ${version}`);
    expect(clients.sort()).toEqual(['core 1.3', 'wallets 1.3', 'webhooks 1.3']);
  });

  test('every health check succeeds, and so do the doctor and a backup', async () => {
    for (const checked of await composed.checkHealth()) expect(checked).toMatchObject({ exitCode: 0 });
    const doctor = [join(root, 'scripts/gatehouse'), 'doctor'];
    expect(await composed.machine.run(composed.deployed('core', doctor))).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/encryption +calls from here use TLS/),
    });
    const backup = [
      ...[join(root, 'scripts/gatehouse'), 'backup'],
      ...['--output', join(composed.folder, 'backup')],
    ];
    const written = await composed.machine.run(composed.deployed('core', backup));
    expect(written).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Backup') });
  });

  test('the certificate of a server has the name that each process calls it by', async () => {
    for (const { name, environment } of composed.services)
      for (const [setting, server] of [
        ['GATEHOUSE_CORE_ADDRESSES', 'core'],
        ['GATEHOUSE_WEBHOOKS_ADDRESSES', 'webhooks'],
        ['GATEHOUSE_DATABASE_ADDRESS', 'postgres'],
        ['GATEHOUSE_NATS_ADDRESS', 'nats'],
      ] as const) {
        if (environment[setting] === undefined) continue;
        const [, host = ''] = /([^/]+):\d+$/.exec(environment[setting]) ?? [];
        const pem = await readFile(join(composed.folder, 'etc/gatehouse/tls', server, 'tls.crt'));
        expect({ name, setting, found: new X509Certificate(pem).checkHost(host) }).toEqual({
          name,
          setting,
          found: host,
        });
      }
  });

  test('each process has a key in PKCS #8, the only form that Java reads', async () => {
    const folder = join(composed.folder, 'etc/gatehouse/tls');
    const names = (await readdir(folder)).filter((name) => name !== 'authority');
    const keys = await Promise.all(names.map((name) => readFile(join(folder, name, 'tls.key'), 'utf8')));
    expect(names).toContain('core');
    expect(new Set(keys.map((key) => key.split('\n')[0]))).toEqual(new Set(['-----BEGIN PRIVATE KEY-----']));
  });

  test('a client without a certificate, or without TLS, is refused by every server', async () => {
    const { machine, deployed } = composed;
    const withoutCertificate = (name: string) => {
      const {
        GATEHOUSE_TLS_CERTIFICATE_FILE: _certificate,
        GATEHOUSE_TLS_KEY_FILE: _key,
        ...environment
      } = deployed(name).environment;
      return environment;
    };
    const { GATEHOUSE_TLS_CA_FILE: _ca, ...plaintext } = withoutCertificate('core');
    for (const [command, environment, reason] of [
      ['merchant list', withoutCertificate('core'), 'this server requires a client certificate'],
      ['webhook deliveries', withoutCertificate('core'), 'this server requires a client certificate'],
      ['merchant list', plaintext, 'error: '],
    ] as const) {
      const words = [join(root, 'scripts/gatehouse'), ...command.split(' ')];
      const { exitCode, stderr } = await machine.run({ ...deployed('core', words), environment });
      expect({ command, stderr }).toEqual({ command, stderr: expect.stringContaining(reason) });
      expect(exitCode).not.toBe(0);
    }

    const ca = await readFile(pathOf('core', 'GATEHOUSE_TLS_CA_FILE'));
    const connectionString = (await urlOf('core', 'GATEHOUSE_DATABASE_URL')).replace(/\?.*$/, '');
    for (const [ssl, reason] of [
      [{ ca }, /requires a valid client certificate/],
      [false, /no encryption/],
    ] as const) {
      const client = new pg.Client({ connectionString, ssl });
      client.on('error', () => undefined);
      await expect(client.connect()).rejects.toThrow(reason);
    }

    const { logger, log } = keptLog({ level: 'info' });
    const paths = { ca: pathOf('core', 'GATEHOUSE_TLS_CA_FILE'), own: undefined };
    const files = openCertificateFiles({ paths, logger, now: () => new Date() });
    const bus = openEventBus({
      url: await urlOf('core', 'GATEHOUSE_NATS_URL'),
      name: 'test',
      tls: files,
      logger,
    });
    await waitUntil('NATS refuses the client', () =>
      log.some(({ msg = '' }) => msg.includes('cannot connect to the broker')),
    );
    expect(bus.isConnected()).toBe(false);
    await bus.close();
    files.stop();
  });
});
