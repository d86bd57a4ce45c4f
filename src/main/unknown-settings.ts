import { misspeltSettings, unknownSettings } from '../contract/setting-names.ts';
import { readWallets, secretNames } from '../contract/wallets-file/read-wallets-file.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

/**
 * One sentence about each variable that is no setting. The file of wallets names the variables of its secrets. Without the file, such as on
 * an operator's machine, only misspelt settings are reported, because any other variable may be such a secret.
 */
export function reportedSettings(environment: ProcessEnvironment): string[] {
  const { GATEHOUSE_WALLETS_FILE: file, GATEHOUSE_WALLETS: json } = environment;
  try {
    const wallets = readWallets({ file: file || undefined, json: json || undefined });
    return unknownSettings(environment, secretNames(wallets));
  } catch {
    // The code that needs the file reports what is wrong with it.
    return misspeltSettings(environment);
  }
}
