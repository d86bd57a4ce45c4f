import {
  brokerSettings,
  certificatesForTokens,
  clientSettings,
  walletsFileSettings,
} from '../contract/shared-settings.ts';
import { baseUrl, networks } from '../platform/settings/address-settings.ts';
import { key256 } from '../platform/settings/key-settings.ts';
import { port } from '../platform/settings/number-settings.ts';
import { metricsSettings, processSettings, readSettings } from '../platform/settings/read-settings.ts';
import { tracingVariables } from '../platform/tracing/tracing-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

const settings = {
  ...processSettings,
  ...tracingVariables,
  ...metricsSettings,
  ...brokerSettings,
  ...clientSettings,
  ...walletsFileSettings,
  GATEHOUSE_WALLET_CALLBACK_PORT: port({ default: 8084 }),
  GATEHOUSE_WALLET_CALLBACK_BASE_URL: baseUrl({ default: undefined }),
  GATEHOUSE_WALLET_CALLBACK_KEY: key256({
    desc: '64 hexadecimal digits, the same for every wallets process; create it with openssl rand -hex 32',
  }),
  GATEHOUSE_TRUSTED_PROXIES: networks({ default: undefined }),
};

/** Settings of the `wallets` process. @throws SettingsError */
export const readWalletsSettings = (environment: ProcessEnvironment) =>
  readSettings(environment, certificatesForTokens(environment, settings));
