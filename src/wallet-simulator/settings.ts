import { bool, str } from 'envalid';
import { port, timeScale } from '../platform/settings/number-settings.ts';
import { processSettings, readSettings } from '../platform/settings/read-settings.ts';
import { simulatedWallets } from './credentials-setting.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

const settings = {
  ...processSettings,
  GATEHOUSE_SIMULATOR_PORT: port({ default: 8090 }),
  GATEHOUSE_SIMULATOR_CREDENTIALS: simulatedWallets({ desc: 'JSON with the credentials of each wallet' }),
  GATEHOUSE_SIMULATOR_INTERACTIVE: bool({ default: false }),
  GATEHOUSE_SIMULATOR_TIME_SCALE: timeScale({ default: 1 }),
  GATEHOUSE_SIMULATOR_JOURNAL_DIR: str({ default: undefined }),
};

/** Settings of the `wallet-simulator` process. @throws SettingsError */
export const readWalletSimulatorSettings = (environment: ProcessEnvironment) =>
  readSettings(environment, settings);
