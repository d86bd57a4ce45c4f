import { str } from 'envalid';
import { serviceToken } from '../contract/shared-settings.ts';
import { addresses, databaseUrl, origin } from '../platform/settings/address-settings.ts';
import { readSettings } from '../platform/settings/read-settings.ts';
import { tlsSettings } from '../platform/tls/tls-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

const settings = {
  ...tlsSettings,
  GATEHOUSE_CORE_ADDRESSES: addresses({ default: undefined }),
  GATEHOUSE_WEBHOOKS_ADDRESSES: addresses({ default: undefined }),
  GATEHOUSE_DASHBOARD_BASE_URL: origin({ default: undefined }),
  GATEHOUSE_SERVICE_TOKEN: serviceToken({ default: undefined }),
  GATEHOUSE_WEBHOOK_SECRET: str({ default: undefined }),
  GATEHOUSE_DATABASE_URL: databaseUrl({
    default: undefined,
    desc: 'the URL of PostgreSQL',
    example: 'postgres://gatehouse:<password>@127.0.0.1:5432/gatehouse',
  }),
  GATEHOUSE_WEBHOOKS_DATABASE_URL: databaseUrl({ default: undefined }),
  GATEHOUSE_DATA_DIR: str({ default: '.gatehouse' }),
};

/** Settings of the command line client. @throws SettingsError */
export const readCliSettings = (environment: ProcessEnvironment) => {
  const read = readSettings(environment, settings);
  // A certificate names the role as a token does.
  const token = read.GATEHOUSE_SERVICE_TOKEN ?? (read.GATEHOUSE_TLS_CERTIFICATE_FILE && '');
  return { ...read, GATEHOUSE_SERVICE_TOKEN: token };
};
export type CliSettings = ReturnType<typeof readCliSettings>;
