import { certificatesForTokens, clientSettings } from '../contract/shared-settings.ts';
import { baseUrl, networks } from '../platform/settings/address-settings.ts';
import { port, wholeNumber } from '../platform/settings/number-settings.ts';
import { metricsSettings, processSettings, readSettings } from '../platform/settings/read-settings.ts';
import { timeZone } from '../platform/settings/time-zone-setting.ts';
import { tracingVariables } from '../platform/tracing/tracing-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

const settings = {
  ...processSettings,
  ...tracingVariables,
  ...metricsSettings,
  ...clientSettings,
  GATEHOUSE_CHECKOUT_PORT: port({ default: 8082 }),
  GATEHOUSE_CHECKOUT_PAYMENTS_PER_NETWORK: wholeNumber({ default: 300 }),
  GATEHOUSE_CHECKOUT_BASE_URL: baseUrl({ default: undefined }),
  GATEHOUSE_TIME_ZONE: timeZone({ default: 'Africa/Addis_Ababa' }),
  GATEHOUSE_TRUSTED_PROXIES: networks({ default: undefined }),
};

/** Settings of the `checkout` process. @throws SettingsError */
export const readCheckoutSettings = (environment: ProcessEnvironment) =>
  readSettings(environment, certificatesForTokens(environment, settings));
