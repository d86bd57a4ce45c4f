import { SettingsError } from '../platform/settings/read-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';

/** Reads a process's settings from its environment. If one is invalid, it prints the reason and ends the process. */
export function readSettingsOrExit<Config>(read: (environment: ProcessEnvironment) => Config): Config {
  try {
    return read(process.env);
  } catch (error) {
    return exitForSettings(error);
  }
}

/** Prints the reason of a SettingsError and ends the process. Throws any other error. */
export function exitForSettings(error: unknown): never {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
