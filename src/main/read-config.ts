import { ConfigError } from '../runtime/config.ts';
import type { ProcessEnvironment } from '../runtime/config.ts';

/** Reads a process's settings from its environment; when one is wrong, says so in plain words and ends the process. */
export function readConfigOrExit<Config>(read: (environment: ProcessEnvironment) => Config): Config {
  try {
    return read(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
