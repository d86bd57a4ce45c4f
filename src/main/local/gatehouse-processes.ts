import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readCheckoutSettings } from '../../checkout/settings.ts';
import { readCoreSettings } from '../../core/settings.ts';
import { readDashboardSettings } from '../../dashboard/settings.ts';
import { readRestFacadeSettings } from '../../rest-facade/settings.ts';
import { readWallets, secretNames } from '../../contract/wallets-file/read-wallets-file.ts';
import {
  demoCurrencies,
  demoWalletVariables,
  demoWalletsJson,
  simulatorCredentialsJson,
} from './demo-wallets.ts';
import { readWalletSimulatorSettings } from '../../wallet-simulator/settings.ts';
import { readWalletsSettings } from '../../wallets/settings.ts';
import { readWebhooksSettings } from '../../webhooks/settings.ts';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';
import type { Addresses } from './addresses.ts';
import { bundledProgram } from './bundle-programs.ts';
import { dataFolderMarker } from './leftovers.ts';
import { heapEnvironment, heapFlags } from './heap-flags.ts';
import type { Secrets } from './secrets.ts';
import type { ProcessSpec } from './supervisor.ts';

/** The settings of the processes on one machine. Settings that are not named here come from `environment`. */
export interface LocalSettings {
  readonly environment: ProcessEnvironment;
  readonly projectRoot: string;
  /** The folder of the bundled programs; undefined to run the sources. */
  readonly programFolder: string | undefined;
  readonly dataFolder: string;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly secrets: Secrets;
  readonly addresses: Addresses;
}

/** All processes stop within ten seconds: this long for the facade, as long for core, and 2.5 s for the servers behind them. */
const stopTimeoutMs = 3_500;

const hasReadyLine = (log: string): boolean => /^\{.*"msg":"ready".*\}$/m.test(log);

function nodeProcess(
  name: string,
  address: string,
  settings: LocalSettings,
  env: ProcessEnvironment,
  nodeFlags: readonly string[] = [],
): ProcessSpec {
  const ports: Readonly<Record<string, number>> = settings.addresses.ports.metrics ?? {};
  const metricsPort = ports[name];
  const metrics = metricsPort === undefined ? '' : `, metrics ${settings.addresses.metrics[name] ?? ''}`;
  return {
    name,
    address: `${address}${metrics}`,
    command: process.execPath,
    args: [...nodeFlags, ...programArguments(settings, name)],
    cwd: settings.projectRoot,
    // Compiled code is cached in a private folder, by default. So each process starts sooner and uses less memory (docs/adr/0001).
    env: {
      NODE_COMPILE_CACHE:
        settings.environment['NODE_COMPILE_CACHE'] || join(settings.dataFolder, 'compile-cache'),
      ...env,
      // All processes have the same environment, so each gets a port of its own.
      GATEHOUSE_METRICS_PORT: metricsPort === undefined ? '' : String(metricsPort),
      [dataFolderMarker]: settings.dataFolder,
    },
    ipc: true,
    isReady: async ({ log }) => hasReadyLine(await log()),
    stopSignal: 'SIGTERM',
    stopTimeoutMs,
  };
}

function programArguments({ programFolder }: LocalSettings, name: string): readonly string[] {
  if (programFolder === undefined)
    return ['--import', './src/main/local/stop-with-parent.ts', `src/main/${name}.ts`];
  const stopWithParent = pathToFileURL(bundledProgram(programFolder, 'local/stop-with-parent')).href;
  return ['--import', stopWithParent, bundledProgram(programFolder, name)];
}

/** The permitted callers, in the form of core's and webhooks' setting. */
const serviceTokens = ({ service_tokens: tokens }: Secrets): string =>
  Object.entries(tokens)
    .map(([role, token]) => `${role}:${token}`)
    .join(',');

/** Core. @throws SettingsError */
export function coreProcess(settings: LocalSettings): ProcessSpec {
  const { secrets, addresses } = settings;
  const env = {
    ...settings.environment,
    ...heapEnvironment,
    GATEHOUSE_DATABASE_URL: settings.databaseUrl,
    GATEHOUSE_NATS_URL: settings.natsUrl,
    GATEHOUSE_MASTER_KEY: secrets.master_key,
    GATEHOUSE_SERVICE_TOKENS: serviceTokens(secrets),
    GATEHOUSE_CHECKOUT_BASE_URL: settings.environment['GATEHOUSE_CHECKOUT_BASE_URL'] || addresses.checkout,
    GATEHOUSE_CORE_GRPC_PORT: String(addresses.ports.coreGrpc),
    GATEHOUSE_CORE_CONNECT_PORT: String(addresses.ports.coreConnect),
    ...walletsSource(settings),
  };
  const { GATEHOUSE_WALLETS_FILE: file, GATEHOUSE_WALLETS: json } = readCoreSettings(env);
  readWallets({ file, json });
  return nodeProcess(
    'core',
    `gRPC ${addresses.grpc}, Connect ${addresses.connect}`,
    settings,
    env,
    heapFlags,
  );
}

/** The REST facade with its two listeners. @throws SettingsError */
export function restFacadeProcess(settings: LocalSettings): ProcessSpec {
  const { secrets, addresses } = settings;
  const env = {
    ...settings.environment,
    ...heapEnvironment,
    GATEHOUSE_CORE_ADDRESSES: addresses.grpc,
    GATEHOUSE_WEBHOOKS_ADDRESSES: addresses.webhooks.grpc,
    GATEHOUSE_SERVICE_TOKEN: secrets.service_tokens['facade'],
    GATEHOUSE_REST_PRODUCTION_PORT: String(addresses.ports.restProduction),
    GATEHOUSE_REST_SANDBOX_PORT: String(addresses.ports.restSandbox),
  };
  readRestFacadeSettings(env);
  const { sandbox, production } = addresses.rest;
  return nodeProcess('rest-facade', `sandbox ${sandbox}, production ${production}`, settings, env, heapFlags);
}

/** The hosted checkout. @throws SettingsError */
export function checkoutProcess(settings: LocalSettings): ProcessSpec {
  const { secrets, addresses } = settings;
  const env = {
    ...settings.environment,
    ...heapEnvironment,
    GATEHOUSE_CORE_ADDRESSES: addresses.grpc,
    GATEHOUSE_SERVICE_TOKEN: secrets.service_tokens['checkout'],
    GATEHOUSE_CHECKOUT_PORT: String(addresses.ports.checkout),
    GATEHOUSE_CHECKOUT_BASE_URL: settings.environment['GATEHOUSE_CHECKOUT_BASE_URL'] || addresses.checkout,
  };
  readCheckoutSettings(env);
  return nodeProcess('checkout', addresses.checkout, settings, env, heapFlags);
}

/** The dashboard. @throws SettingsError */
export function dashboardProcess(settings: LocalSettings): ProcessSpec {
  const { environment, secrets, addresses } = settings;
  const env = {
    ...environment,
    ...heapEnvironment,
    GATEHOUSE_CORE_ADDRESSES: addresses.grpc,
    GATEHOUSE_WEBHOOKS_ADDRESSES: addresses.webhooks.grpc,
    GATEHOUSE_SERVICE_TOKEN: secrets.service_tokens['dashboard'],
    GATEHOUSE_DASHBOARD_PORT: String(addresses.ports.dashboard),
    GATEHOUSE_REST_PRODUCTION_URL: environment['GATEHOUSE_REST_PRODUCTION_URL'] || addresses.rest.production,
    GATEHOUSE_REST_SANDBOX_URL: environment['GATEHOUSE_REST_SANDBOX_URL'] || addresses.rest.sandbox,
  };
  readDashboardSettings(env);
  return nodeProcess('dashboard', addresses.dashboard, settings, env, heapFlags);
}

/** The simulated wallets of the sandbox. @throws SettingsError */
export function walletSimulatorProcess(settings: LocalSettings): ProcessSpec {
  const { secrets, addresses } = settings;
  const env = {
    ...settings.environment,
    GATEHOUSE_SIMULATOR_PORT: String(addresses.ports.simulator),
    GATEHOUSE_SIMULATOR_CREDENTIALS: simulatorCredentialsJson(secrets.simulated_wallets),
    // Payments survive a restart, so the simulated wallets must survive it too.
    GATEHOUSE_SIMULATOR_JOURNAL_DIR: join(settings.dataFolder, 'wallet-simulator'),
  };
  readWalletSimulatorSettings(env);
  return nodeProcess('wallet-simulator', addresses.simulator, settings, env);
}

/** The configured wallets, or else the simulated ones of the sandbox. */
const walletsSource = ({ environment, secrets, addresses }: LocalSettings) =>
  environment['GATEHOUSE_WALLETS_FILE'] || environment['GATEHOUSE_WALLETS']
    ? {}
    : {
        GATEHOUSE_WALLETS: demoWalletsJson(
          addresses.simulator,
          secrets.simulated_wallets,
          environment['GATEHOUSE_CURRENCIES'] || undefined,
        ),
        GATEHOUSE_CURRENCIES: environment['GATEHOUSE_CURRENCIES'] || demoCurrencies,
      };

/** The wallets process, with the configured wallets or else the simulated ones of the sandbox. @throws SettingsError */
export function walletsProcess(settings: LocalSettings): ProcessSpec {
  const { secrets, addresses } = settings;
  const env = {
    ...settings.environment,
    ...heapEnvironment,
    GATEHOUSE_CORE_ADDRESSES: addresses.grpc,
    GATEHOUSE_SERVICE_TOKEN: secrets.service_tokens['wallets'],
    GATEHOUSE_NATS_URL: settings.natsUrl,
    GATEHOUSE_WALLET_CALLBACK_PORT: String(addresses.ports.walletCallback),
    GATEHOUSE_WALLET_CALLBACK_BASE_URL:
      settings.environment['GATEHOUSE_WALLET_CALLBACK_BASE_URL'] || addresses.walletCallback,
    GATEHOUSE_WALLET_CALLBACK_KEY: secrets.wallet_callback_key,
    ...walletsSource(settings),
  };
  const { GATEHOUSE_WALLETS_FILE: file, GATEHOUSE_WALLETS: json } = readWalletsSettings(env);
  // An operator's own file may name secrets of the simulated wallets too.
  const named = new Set(secretNames(readWallets({ file, json })));
  const ofSimulated = Object.entries(demoWalletVariables(secrets.simulated_wallets));
  const simulated = Object.fromEntries(ofSimulated.filter(([name]) => named.has(name)));
  const callbacks = `callbacks ${addresses.walletCallback}`;
  return nodeProcess('wallets', callbacks, settings, { ...env, ...simulated }, heapFlags);
}

/** A shop in development usually runs on this machine. */
const thisMachine = '127.0.0.0/8,::1/128';

/** The webhooks process. @throws SettingsError */
export function webhooksProcess(settings: LocalSettings): ProcessSpec {
  const { environment, secrets, addresses } = settings;
  const { grpc, connect } = addresses.webhooks;
  // Only whether it is given: the process reads the file itself, and says what is wrong with it.
  const hasKeysFile = (environment['GATEHOUSE_WEBHOOK_SECRET_KEYS_FILE'] ?? '') !== '';
  const env = {
    ...environment,
    ...heapEnvironment,
    GATEHOUSE_CORE_ADDRESSES: addresses.grpc,
    GATEHOUSE_SERVICE_TOKEN: secrets.service_tokens['webhooks'],
    GATEHOUSE_SERVICE_TOKENS: serviceTokens(secrets),
    GATEHOUSE_DATABASE_URL: settings.databaseUrl,
    GATEHOUSE_NATS_URL: settings.natsUrl,
    GATEHOUSE_WEBHOOKS_GRPC_PORT: String(addresses.ports.webhooksGrpc),
    GATEHOUSE_WEBHOOKS_CONNECT_PORT: String(addresses.ports.webhooksConnect),
    GATEHOUSE_WEBHOOK_SECRET_KEYS:
      environment['GATEHOUSE_WEBHOOK_SECRET_KEYS'] ||
      (hasKeysFile ? '' : `first:${secrets.webhook_secret_key}`),
    GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS: environment['GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS'] || thisMachine,
  };
  readWebhooksSettings(env);
  return nodeProcess('webhooks', `gRPC ${grpc}, Connect ${connect}`, settings, env, heapFlags);
}
