import {
  brokerSettings,
  certificatesForTokens,
  clientSettings,
  serverSettings,
} from '../contract/shared-settings.ts';
import { databaseUrl, networks } from '../platform/settings/address-settings.ts';
import { poolSize, port, retentionDays, webhooksPoolSize } from '../platform/settings/number-settings.ts';
import { namedKeys } from '../platform/settings/named-keys.ts';
import { processSettings, readSettings } from '../platform/settings/read-settings.ts';
import { tracingVariables } from '../platform/tracing/tracing-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

const settings = {
  ...processSettings,
  ...tracingVariables,
  ...serverSettings,
  ...brokerSettings,
  ...clientSettings,
  GATEHOUSE_WEBHOOKS_GRPC_PORT: port({ default: 50053 }),
  GATEHOUSE_WEBHOOKS_CONNECT_PORT: port({ default: 50054 }),
  GATEHOUSE_DATABASE_URL: databaseUrl({
    desc: "the URL of PostgreSQL: core's own, or another",
    example: 'postgres://gatehouse:<password>@127.0.0.1:5432/gatehouse',
  }),
  GATEHOUSE_DATABASE_POOL_SIZE: webhooksPoolSize({ default: 12 }),
  GATEHOUSE_WEBHOOK_SECRET_KEYS: namedKeys({
    desc: 'the keys that encrypt signing secrets at rest, as name:key,name:key; create one with openssl rand -hex 32',
  }),
  // Only public addresses by default. Production has no such setting.
  GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS: networks({ default: [] }),
  GATEHOUSE_WEBHOOK_MAX_IN_FLIGHT: poolSize({ default: 256 }),
  GATEHOUSE_WEBHOOK_RETENTION_DAYS: retentionDays({ default: 90 }),
};

/** Settings of the `webhooks` process. @throws SettingsError */
export const readWebhooksSettings = (environment: ProcessEnvironment) =>
  readSettings(environment, certificatesForTokens(environment, settings));
