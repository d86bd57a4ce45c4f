import { certificatesForTokens, clientSettings } from '../contract/shared-settings.ts';
import { addresses, baseUrl, networks } from '../platform/settings/address-settings.ts';
import { slotCount, port, wholeNumber } from '../platform/settings/number-settings.ts';
import { metricsSettings, processSettings, readSettings } from '../platform/settings/read-settings.ts';
import { tracingVariables } from '../platform/tracing/tracing-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

const settings = {
  ...processSettings,
  ...tracingVariables,
  ...metricsSettings,
  ...clientSettings,
  GATEHOUSE_WEBHOOKS_ADDRESSES: addresses({ default: ['127.0.0.1:50053'] }),
  GATEHOUSE_REST_PRODUCTION_PORT: port({ default: 8080 }),
  GATEHOUSE_REST_SANDBOX_PORT: port({ default: 8081 }),
  GATEHOUSE_RATE_LIMIT_PER_KEY: wholeNumber({ default: 1000 }),
  // Two a second. A misconfigured client stays below it, and an attacker cannot find a 256-bit key at that rate.
  GATEHOUSE_RATE_LIMIT_FAILED_KEYS: wholeNumber({ default: 120 }),
  // One merchant gets half of them.
  GATEHOUSE_WAITING_REQUESTS: slotCount({ default: 20_000 }),
  GATEHOUSE_REST_PRODUCTION_URL: baseUrl({ default: undefined }),
  GATEHOUSE_REST_SANDBOX_URL: baseUrl({ default: undefined }),
  GATEHOUSE_TRUSTED_PROXIES: networks({ default: undefined }),
};

/** Settings of the `rest-facade` process. @throws SettingsError */
export const readRestFacadeSettings = (environment: ProcessEnvironment) =>
  readSettings(environment, certificatesForTokens(environment, settings));
