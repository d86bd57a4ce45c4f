import { str } from 'envalid';
import { databaseUrl, natsUrl } from '../../platform/settings/address-settings.ts';
import { port } from '../../platform/settings/number-settings.ts';
import { metricsSettings, processSettings, readSettings } from '../../platform/settings/read-settings.ts';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';

const settings = {
  ...processSettings,
  ...metricsSettings,
  GATEHOUSE_DATA_DIR: str({ default: '.gatehouse' }),
  GATEHOUSE_DATABASE_URL: databaseUrl({ default: undefined }),
  GATEHOUSE_NATS_URL: natsUrl({ default: undefined }),
  GATEHOUSE_REST_PRODUCTION_PORT: port({ default: 8080 }),
  GATEHOUSE_REST_SANDBOX_PORT: port({ default: 8081 }),
  GATEHOUSE_CHECKOUT_PORT: port({ default: 8082 }),
  GATEHOUSE_DASHBOARD_PORT: port({ default: 8083 }),
  GATEHOUSE_WALLET_CALLBACK_PORT: port({ default: 8084 }),
  GATEHOUSE_SIMULATOR_PORT: port({ default: 8090 }),
  GATEHOUSE_CORE_GRPC_PORT: port({ default: 50051 }),
  GATEHOUSE_CORE_CONNECT_PORT: port({ default: 50052 }),
  GATEHOUSE_WEBHOOKS_GRPC_PORT: port({ default: 50053 }),
  GATEHOUSE_WEBHOOKS_CONNECT_PORT: port({ default: 50054 }),
  GATEHOUSE_POSTGRES_PORT: port({ default: 5433 }),
  GATEHOUSE_NATS_PORT: port({ default: 4222 }),
};

/** Settings of the command that runs everything on this machine. @throws SettingsError */
export const readLocalSettings = (environment: ProcessEnvironment) => readSettings(environment, settings);
export type LocalSettings = ReturnType<typeof readLocalSettings>;
