import {
  brokerSettings,
  certificatesForTokens,
  serverSettings,
  walletsFileSettings,
} from '../contract/shared-settings.ts';
import { baseUrl, databaseUrl } from '../platform/settings/address-settings.ts';
import { key256 } from '../platform/settings/key-settings.ts';
import { namedKeysOrDerived } from '../platform/settings/named-keys.ts';
import { corePoolSize, personalDataDays, port, wholeNumber } from '../platform/settings/number-settings.ts';
import { processSettings, readSettings } from '../platform/settings/read-settings.ts';
import { currencies, requiredCertification } from './list-settings.ts';
import { tracingVariables } from '../platform/tracing/tracing-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

const settings = {
  ...processSettings,
  ...tracingVariables,
  ...serverSettings,
  ...brokerSettings,
  ...walletsFileSettings,
  GATEHOUSE_CORE_GRPC_PORT: port({ default: 50051 }),
  GATEHOUSE_CORE_CONNECT_PORT: port({ default: 50052 }),
  GATEHOUSE_DATABASE_URL: databaseUrl({
    desc: 'the URL of PostgreSQL',
    example: 'postgres://gatehouse:<password>@127.0.0.1:5432/gatehouse',
  }),
  GATEHOUSE_MASTER_KEY: key256({
    desc: '64 hexadecimal digits, the same for every core; create it with openssl rand -hex 32',
  }),
  // Without it, a key derived from the master key encrypts the accounts.
  GATEHOUSE_WALLET_ACCOUNT_KEYS: namedKeysOrDerived('master')({ default: undefined }),
  GATEHOUSE_CHECKOUT_BASE_URL: baseUrl({ default: 'http://127.0.0.1:8082' }),
  // Without it, orders accept ETB, USD and the currencies of the wallets.
  GATEHOUSE_CURRENCIES: currencies({ default: undefined }),
  GATEHOUSE_REQUIRED_CERTIFICATION: requiredCertification({ default: [] }),
  GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: wholeNumber({ default: 5 }),
  GATEHOUSE_DATABASE_POOL_SIZE: corePoolSize({ default: 12 }),
  // 0 compares ended days only.
  GATEHOUSE_BALANCE_MINUTES: wholeNumber({ default: 60 }),
  // 0 keeps the data for ever, for merchants without a period of their own.
  GATEHOUSE_PERSONAL_DATA_DAYS: personalDataDays({ default: 0 }),
  // Longer than a prompt of three minutes, so that statements contain the payments of the lost time.
  GATEHOUSE_RECOVERY_SETTLE_SECONDS: wholeNumber({ default: 240 }),
};

/** Settings of the `core` process. @throws SettingsError */
export const readCoreSettings = (environment: ProcessEnvironment) =>
  readSettings(environment, certificatesForTokens(environment, settings));

export type CoreSettings = ReturnType<typeof readCoreSettings>;
