import { str } from 'envalid';
import { certificatesForTokens, clientSettings } from '../contract/shared-settings.ts';
import { addresses, baseUrl, networks, origin, smtpUrl } from '../platform/settings/address-settings.ts';
import { port } from '../platform/settings/number-settings.ts';
import {
  SettingsError,
  metricsSettings,
  processSettings,
  readSettings,
} from '../platform/settings/read-settings.ts';
import { timeZone } from '../platform/settings/time-zone-setting.ts';
import { tracingVariables } from '../platform/tracing/tracing-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

const settings = {
  ...processSettings,
  ...tracingVariables,
  ...metricsSettings,
  ...clientSettings,
  GATEHOUSE_WEBHOOKS_ADDRESSES: addresses({ default: ['127.0.0.1:50053'] }),
  GATEHOUSE_DASHBOARD_PORT: port({ default: 8083 }),
  GATEHOUSE_DASHBOARD_BASE_URL: origin({ default: undefined }),
  GATEHOUSE_TIME_ZONE: timeZone({ default: 'Africa/Addis_Ababa' }),
  GATEHOUSE_REST_PRODUCTION_URL: baseUrl({ default: 'http://127.0.0.1:8080' }),
  GATEHOUSE_REST_SANDBOX_URL: baseUrl({ default: 'http://127.0.0.1:8081' }),
  GATEHOUSE_SMTP_URL: smtpUrl({ default: undefined }),
  GATEHOUSE_MAIL_FROM: str({ default: undefined }),
  GATEHOUSE_TRUSTED_PROXIES: networks({ default: undefined }),
};

/** Settings of the `dashboard` process. @throws SettingsError */
export const readDashboardSettings = (environment: ProcessEnvironment) => {
  const read = readSettings(environment, certificatesForTokens(environment, settings));
  if (read.GATEHOUSE_SMTP_URL !== undefined && read.GATEHOUSE_MAIL_FROM === undefined)
    throw new SettingsError(
      'GATEHOUSE_MAIL_FROM is not set: with GATEHOUSE_SMTP_URL, name the sender address of the mails',
    );
  return read;
};
