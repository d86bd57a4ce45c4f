import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { readCheckoutSettings } from '../../../src/checkout/settings.ts';
import { readCoreSettings } from '../../../src/core/settings.ts';
import { SettingsError } from '../../../src/platform/settings/read-settings.ts';
import { tracingVariables } from '../../../src/platform/tracing/tracing-settings.ts';
import { readDashboardSettings } from '../../../src/dashboard/settings.ts';
import { readRestFacadeSettings } from '../../../src/rest-facade/settings.ts';
import { readWalletsSettings } from '../../../src/wallets/settings.ts';
import { readWalletSimulatorSettings } from '../../../src/wallet-simulator/settings.ts';
import { readWebhooksSettings } from '../../../src/webhooks/settings.ts';
import {
  composeFiles,
  composeFilesWithTls,
  readComposeDocument,
  readComposeFile,
  readContainersSection,
} from '../../support/compose-file.ts';
import type { ComposeService } from '../../support/compose-file.ts';
import { findGoModule } from '../../support/go-module.ts';

const root = resolve(import.meta.dirname, '../../..');

const readers = {
  core: readCoreSettings,
  'rest-facade': readRestFacadeSettings,
  checkout: readCheckoutSettings,
  dashboard: readDashboardSettings,
  wallets: readWalletsSettings,
  webhooks: readWebhooksSettings,
  'wallet-simulator': readWalletSimulatorSettings,
};

/** The settings that a process looks for in its environment. */
function settingsReadBy(read: (environment: Readonly<Record<string, string>>) => unknown): Set<string> {
  const names = new Set<string>();
  const environment = new Proxy<Record<string, string>>(
    {},
    {
      get: (_target, name) => {
        names.add(String(name));
      },
    },
  );
  try {
    read(environment);
  } catch (error) {
    // Required settings are missing.
    if (!(error instanceof SettingsError)) throw error;
  }
  return names;
}

describe('docker-compose.yml', () => {
  let section: string;
  let services: readonly ComposeService[];

  beforeAll(async () => {
    section = await readContainersSection();
    services = await readComposeFile({});
  });
  const serviceOf = (name: string): ComposeService => {
    const found = services.find((service) => service.name === name);
    if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
    return found;
  };

  test('publishes every port that README.md names, and README.md names all', async () => {
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    // The port 3000 belongs to a merchant's own server.
    const named = [...readme.matchAll(/127\.0\.0\.1:([58]\d{3,4})/g)].map(([, port]) => Number(port));
    const published = services.filter(({ profiles }) => profiles.length === 0).flatMap(({ ports }) => ports);
    expect(published.sort()).toEqual(expect.arrayContaining([...new Set(named)]));
    for (const port of published)
      expect({ port, isNamed: section.includes(`${port}`) }).toEqual({ port, isNamed: true });
  });

  test.each([composeFiles, composeFilesWithTls].map((files) => [files.join(' and '), files] as const))(
    '%s mount every file that a setting names, and give no process a secret or key of another',
    async (_names, files) => {
      const services = await readComposeFile({}, files);
      for (const { name, environment, mounts } of services)
        for (const [setting, path] of Object.entries(environment)) {
          if (!path.startsWith('/')) continue;
          const isMounted = mounts.some((mount) => path === mount || path.startsWith(`${mount}/`));
          expect({ name, setting, isMounted: isMounted || name === 'make-secrets' }).toEqual({
            name,
            setting,
            isMounted: true,
          });
        }
      for (const { name, mounts } of services) {
        const own = name.replace('more-cores', 'core').replace('more-webhooks', 'webhooks');
        const secrets = mounts.filter((mount) => mount.startsWith('/run/gatehouse/'));
        if (name === 'make-secrets') continue;
        expect({ name, secrets }).toEqual({
          name,
          secrets: name === 'caddy' ? [] : [`/run/gatehouse/${own}`],
        });
        const certificates = mounts.filter((mount) => mount.startsWith('/etc/gatehouse/tls'));
        if (files === composeFiles || ['caddy', 'wallet-simulator'].includes(name))
          expect({ name, certificates }).toEqual({ name, certificates: [] });
        else expect({ name, certificates }).toEqual({ name, certificates: [`/etc/gatehouse/tls/${own}`] });
      }
    },
  );

  test('docker-compose.tls.yml names the files of every mounted certificate, and servers require those of clients', async () => {
    const withTls = await readComposeFile({}, composeFilesWithTls);
    for (const { name, environment, command, entrypoint, sources } of withTls)
      for (const [folder, source] of Object.entries(sources)) {
        if (!folder.startsWith('/etc/gatehouse/tls/')) continue;
        const own = name.replace('more-cores', 'core').replace('more-webhooks', 'webhooks');
        expect({ name, source }).toEqual({ name, source: `./certificates/${own}` });
        const named = [...Object.values(environment), ...command, ...entrypoint].join(' ');
        for (const file of ['ca.crt', 'tls.crt', 'tls.key']) expect(named).toContain(`${folder}/${file}`);
        expect({ name, clients: environment['GATEHOUSE_TLS_CLIENT_CERTIFICATES'] }).toEqual({
          name,
          clients: ['core', 'webhooks'].includes(own) ? 'required' : undefined,
        });
      }
    // The words of PostgreSQL's command are replaced, and not appended.
    const postgres = (of: readonly ComposeService[]) => of.find(({ name }) => name === 'postgres')?.command;
    expect(postgres(withTls)).toEqual(expect.arrayContaining([...(postgres(services) ?? [])]));
  });

  test('Caddy serves each public URL by the listener for it, and its address is the only trusted one', async () => {
    const { environment, written } = serviceOf('caddy');
    const caddyfile = await readFile(join(root, 'deploy/caddy/Caddyfile'), 'utf8');
    const sites = [...caddyfile.matchAll(/^\{\$(\w+)\} \{\n(?:.*\n)*?\treverse_proxy (\S+)\n\}/gm)];
    const targets = new Map(sites.map(([, name = '', target = '']) => [name, target]));
    expect([...targets.keys()].sort()).toEqual(Object.keys(environment).sort());
    const [, table = ''] = /(\| Port +\| Serves[\s\S]*?)\n\n/.exec(section) ?? [];
    for (const [name, target] of targets) {
      const [service = '', port = ''] = target.split(':');
      expect(serviceOf(service).ports).toContain(Number(port));
      expect({ name, row: table.split('\n').find((row) => row.includes(port)) }).toEqual({
        name,
        row: expect.stringContaining(name),
      });
    }
    const { networks } = written as { networks: { edge: { ipv4_address: string } } };
    for (const name of ['rest-facade', 'checkout', 'dashboard', 'wallets'])
      expect(serviceOf(name).environment['GATEHOUSE_TRUSTED_PROXIES']).toBe(networks.edge.ipv4_address);
  });

  test('Caddy logs neither URLs nor headers, because they contain keys and one-time links', async () => {
    const [options = '', ...sites] = (await readFile(join(root, 'deploy/caddy/Caddyfile'), 'utf8')).split(
      '\n}\n',
    );
    for (const field of ['request>headers', 'request>uri', 'resp_headers'])
      expect(options).toMatch(
        new RegExp(`^\\{\\n\\tlog \\{\\n\\t\\tformat filter[^]*\\t${field} delete\\n`, 'm'),
      );
    expect(sites.join('\n')).not.toMatch(/^\s*log\b/m);
  });

  test('Caddy listens on IPv4 only, because Docker would give all callers with IPv6 one address', () => {
    const { written } = serviceOf('caddy');
    expect(written).toMatchObject({ ports: ['0.0.0.0:80:80', '0.0.0.0:443:443', '0.0.0.0:443:443/udp'] });
  });

  test('every command of the documentation without dependencies follows one that makes the secrets', async () => {
    for (const page of ['upgrades', 'backup']) {
      const text = await readFile(join(root, `docs/operating/${page}.md`), 'utf8');
      const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
      const early = blocks.filter((block) => /^[^]*?--no-deps[^\n]* core /.test(block));
      expect(early.length).toBeGreaterThan(0);
      for (const block of early)
        expect(block).toMatch(/^[^]*?(run --rm make-secrets|up --detach --wait postgres)\n[^]*?--no-deps/);
    }
  });

  test('.env says how many further instances run, so that a later `up` does not stop them', async () => {
    const services = await readComposeDocument({ GATEHOUSE_MORE_CORES: '2', GATEHOUSE_MORE_WEBHOOKS: '1' });
    expect(services).toMatchObject({
      services: { 'more-cores': { scale: '2' }, 'more-webhooks': { scale: '1' } },
    });
  });

  test('a setting of .env reaches every process that reads it', async () => {
    const names = new Set(services.flatMap(({ environment }) => Object.keys(environment)));
    const missing: string[] = [];
    for (const setting of names) {
      const value = 'a value of .env';
      const given = (await readComposeFile({ [setting]: value }))
        .filter(({ environment }) => environment[setting] === value)
        .map(({ name }) => name);
      if (given.length === 0) continue;
      for (const [name, read] of Object.entries(readers))
        // make-secrets puts the secrets of .env into files.
        if (!given.includes(name) && !(`${setting}_FILE` in serviceOf(name).environment))
          if (settingsReadBy(read).has(setting)) missing.push(`${name}: ${setting}`);
    }
    expect(settingsReadBy(readCheckoutSettings)).toContain('GATEHOUSE_TIME_ZONE');
    expect(missing).toEqual([]);
    // Each process has a name of its own in traces.
    const ofTracing = Object.keys(tracingVariables).filter((name) => name !== 'OTEL_SERVICE_NAME');
    expect(Object.keys(serviceOf('core').environment)).toEqual(expect.arrayContaining(ofTracing));
  });

  test('every process that counts callers by address has the setting for its proxies', () => {
    const setting = 'GATEHOUSE_TRUSTED_PROXIES';
    for (const [name, read] of Object.entries(readers)) {
      const { environment } = serviceOf(name);
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

/** The library with which `docker compose` reads its files. It needs Go, and without it the test is skipped. */
const composeLibrary = findGoModule('github.com/compose-spec/compose-go/v2@v2.16.2');
const testWithGo = composeLibrary === undefined ? test.skip : test;

testWithGo(
  'docker-compose.yml and docker-compose.tls.yml follow the specification of Compose, and a mistake is found',
  async () => {
    const schema = await readFile(join(composeLibrary ?? '', 'schema/compose-spec.json'), 'utf8');
    const isValid = new Ajv2020({ strict: false, validateFormats: false }).compile(
      JSON.parse(schema) as object,
    );
    const document = await readComposeDocument({});
    for (const each of [document, await readComposeDocument({}, ['docker-compose.tls.yml'])]) {
      isValid(each);
      expect(isValid.errors ?? []).toEqual([]);
    }
    const [name = '', service] = Object.entries(document.services)[0] ?? [];
    expect(isValid({ ...document, services: { [name]: { ...service, comand: [] } } })).toBe(false);
  },
);

test('every container is pinned, rotates its logs, and has neither privileges nor a writable image', async () => {
  for (const { name, image, written } of await readComposeFile({}, composeFilesWithTls)) {
    expect({ name, image }).toEqual({
      name,
      image: expect.stringMatching(/^gatehouse$|:\d+\.\d+(\.\d+)?(-alpine)?$/),
    });
    expect({ name, ...written }).toMatchObject({
      name,
      logging: { options: { 'max-size': '10m', 'max-file': '5' } },
    });
    // The image of PostgreSQL starts as root, and changes to its own user.
    if (name !== 'postgres')
      expect({ name, ...written }).toMatchObject({
        name,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
  }
});
