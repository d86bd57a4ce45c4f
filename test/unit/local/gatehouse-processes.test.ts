import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { completeWalletSecrets } from '../../../src/main/local/demo-wallets.ts';
import { readWallets } from '../../../src/contract/wallets-file/read-wallets-file.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { walletSettings } from '../../../src/wallets/wallet-settings.ts';
import { readWalletSimulatorSettings } from '../../../src/wallet-simulator/settings.ts';
import {
  coreProcess,
  walletSimulatorProcess,
  walletsProcess,
  webhooksProcess,
} from '../../../src/main/local/gatehouse-processes.ts';
import type { LocalSettings } from '../../../src/main/local/gatehouse-processes.ts';
import { exampleCurrency } from '../../../src/main/local/summary.ts';

const { secrets: walletSecrets } = completeWalletSecrets({}, () => 's'.repeat(32), randomUUID);

const settings = (environment: LocalSettings['environment']): LocalSettings => ({
  environment,
  projectRoot: '/project',
  programFolder: undefined,
  dataFolder: '/data',
  databaseUrl: 'postgres://127.0.0.1/gatehouse',
  natsUrl: 'nats://127.0.0.1:4222',
  secrets: {
    master_key: 'a'.repeat(64),
    database_password: 'password',
    nats_password: 'password',
    service_tokens: { wallets: 'w'.repeat(32), webhooks: 'h'.repeat(32), operator: 'o'.repeat(32) },
    webhook_secret_key: 'c'.repeat(64),
    wallet_callback_key: 'b'.repeat(64),
    simulated_wallets: walletSecrets,
  },
  addresses: {
    ports: {
      restProduction: 8080,
      restSandbox: 8081,
      checkout: 8082,
      dashboard: 8083,
      walletCallback: 8084,
      simulator: 8090,
      coreGrpc: 50051,
      coreConnect: 50052,
      webhooksGrpc: 50053,
      webhooksConnect: 50054,
      postgres: 5433,
      nats: 4222,
      metrics: undefined,
    },
    grpc: '127.0.0.1:50051',
    connect: 'http://127.0.0.1:50052',
    webhooks: { grpc: '127.0.0.1:50053', connect: 'http://127.0.0.1:50054' },
    rest: { production: 'http://127.0.0.1:8080', sandbox: 'http://127.0.0.1:8081' },
    checkout: 'http://127.0.0.1:8082',
    dashboard: 'http://127.0.0.1:8083',
    walletCallback: 'http://127.0.0.1:8084',
    simulator: 'http://127.0.0.1:8090',
    metrics: {},
  },
});

/** The wallets of a sandbox that takes these currencies. */
const walletsWith = (...codes: readonly string[]): string =>
  JSON.stringify({
    wallets: [
      {
        ...{ id: 'own', names: { en: 'Own', am: 'Own' }, connector: 'gsma', channels: ['ussd'] },
        currencies: codes.map((code) => ({ code })),
        environments: { sandbox: { settings: {} } },
      },
    ],
  });

const walletsIn = (env: NodeJS.ProcessEnv): readonly object[] =>
  (JSON.parse(env['GATEHOUSE_WALLETS'] ?? '') as { wallets: readonly object[] }).wallets;

test('an empty setting of the wallets counts as not set', () => {
  const empty = { GATEHOUSE_WALLETS: '', GATEHOUSE_WALLET_CALLBACK_BASE_URL: '', GATEHOUSE_CURRENCIES: '' };

  const { env } = walletsProcess(settings(empty));

  expect(env['GATEHOUSE_WALLET_CALLBACK_BASE_URL']).toBe('http://127.0.0.1:8084');
  const currencies = [{ code: 'ETB' }, { code: 'USD' }];
  expect(walletsIn(env).slice(0, 2)).toMatchObject([
    { id: 'walleta', currencies },
    { id: 'walletb', currencies },
  ]);
});

test('spaces between currencies are allowed, as in core', () => {
  const { env } = walletsProcess(settings({ GATEHOUSE_CURRENCIES: 'ETB, KES' }));

  const currencies = [{ code: 'ETB' }, { code: 'KES' }];
  expect(walletsIn(env).slice(0, 2)).toMatchObject([{ currencies }, { currencies }]);
});

test('a file of wallets replaces the simulated ones, in core and in the wallets process', () => {
  const own = settings({ GATEHOUSE_WALLETS: '{"wallets":[]}' });

  expect(coreProcess(own).env['GATEHOUSE_WALLETS']).toBe('{"wallets":[]}');
  expect(walletsProcess(own).env['GATEHOUSE_WALLETS']).toBe('{"wallets":[]}');
  expect(() => coreProcess(settings({ GATEHOUSE_WALLETS_FILE: '/none/wallets.json' }))).toThrow(
    'GATEHOUSE_WALLETS_FILE /none/wallets.json cannot be read',
  );
});

test.each([
  [{}, 'ETB'],
  [{ GATEHOUSE_WALLETS: walletsWith('KES', 'EUR') }, 'KES'],
  [{ GATEHOUSE_WALLETS: walletsWith('USD', 'ETB'), GATEHOUSE_WALLETS_FILE: '' }, 'ETB'],
])('the order that the start suggests with the wallets %j is in %s', (environment, currency) => {
  expect(exampleCurrency(environment)).toBe(currency);
});

test('callbacks of the simulated wallets need the key that the wallets send with them', () => {
  const { env } = walletsProcess(settings({}));

  const { wallets } = JSON.parse(env['GATEHOUSE_WALLETS'] ?? '') as {
    wallets: Record<
      'environments',
      Record<'sandbox', Record<'settings' | 'callbacks', { api_key: object }>>
    >[];
  };
  for (const { environments } of wallets.slice(0, 2)) {
    const { settings: ours, callbacks } = environments.sandbox;
    expect(callbacks.api_key).toEqual(ours.api_key);
  }
  expect(env).toMatchObject({
    GATEHOUSE_WALLETA_API_KEY: expect.stringMatching(/./),
    GATEHOUSE_WALLETB_CLIENT_SECRET: expect.stringMatching(/./),
  });
});

test('sandbox webhooks may go to this machine, and those of production to public addresses only', () => {
  const { env } = webhooksProcess(settings({}));

  expect(env['GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS']).toBe('127.0.0.0/8,::1/128');
  expect(env['GATEHOUSE_WEBHOOK_SECRET_KEYS']).toBe(`first:${'c'.repeat(64)}`);
});

test('the keys that encrypt signing secrets, and the networks, can be set', () => {
  const own = {
    GATEHOUSE_WEBHOOK_SECRET_KEYS: `new:${'d'.repeat(64)},first:${'c'.repeat(64)}`,
    GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS: '10.0.0.0/8',
  };

  expect(webhooksProcess(settings(own)).env).toMatchObject(own);
});

test('every connector has a simulated wallet in the sandbox, with valid settings on both sides', () => {
  const { env } = walletsProcess(settings({}));
  const wallets = readWallets({ file: undefined, json: env['GATEHOUSE_WALLETS'] });

  const connected = walletSettings(wallets, connectorKinds, env);

  expect(new Set(connected.map(({ kind }) => kind))).toEqual(new Set(connectorKinds));
  const simulator = readWalletSimulatorSettings(walletSimulatorProcess(settings({})).env);
  expect(simulator.GATEHOUSE_SIMULATOR_CREDENTIALS.map(({ id, protocol }) => [id, protocol])).toEqual(
    connected.map(({ wallet, kind }) => [wallet, kind.name]),
  );
});
