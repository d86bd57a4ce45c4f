import { EnvMissingError, cleanEnv, str } from 'envalid';
import type { CleanedEnv } from 'envalid';
import { listenHost } from './address-settings.ts';
import { port } from './number-settings.ts';
import { readSettingText } from './setting-text.ts';

/** The environment of a process, passed in by its composition root. */
export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** One or more settings are missing or invalid. The message names each one and its valid values. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** The settings of every process. */
export const processSettings = {
  GATEHOUSE_HOST: listenHost({ default: '127.0.0.1' }),
  GATEHOUSE_LOG_LEVEL: str({
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace'],
    default: 'info',
  }),
  GATEHOUSE_INSTANCE: str({ default: undefined }),
};

/** The port for metrics of a process that shows them on no other port. */
export const metricsSettings = {
  GATEHOUSE_METRICS_HOST: listenHost({ default: '127.0.0.1' }),
  GATEHOUSE_METRICS_PORT: port({ default: undefined }),
};

/**
 * Checks all settings of a process at once. `NAME_FILE` can name a file that contains the value of `NAME`, as for the secrets of
 * containers. An empty value counts as not set, because `NAME=` in an .env file and an unset variable in docker compose
 * both give an empty value.
 * @throws SettingsError
 */
export function readSettings<S extends object>(environment: ProcessEnvironment, specs: S): CleanedEnv<S> {
  const given: Record<string, string> = {};
  const fileProblems = new Map<string, string>();
  for (const name of Object.keys(specs)) {
    // GATEHOUSE_WALLETS_FILE is a setting of its own.
    const read = `${name}_FILE` in specs ? { text: environment[name] } : readSettingText(environment, name);
    if ('problem' in read) fileProblems.set(name, read.problem);
    else if (read.text !== undefined && read.text !== '') given[name] = read.text;
  }
  return cleanEnv(given, specs, {
    reporter: ({ errors }) => {
      const problems = Object.entries(errors)
        .filter(([name]) => !fileProblems.has(name))
        .map(([name, error]) =>
          error instanceof EnvMissingError
            ? `${name} is not set: ${error.message}`
            : `${name} ${error instanceof Error ? error.message : 'is not usable'}`,
        );
      for (const [name, problem] of fileProblems) problems.push(`${name} is not set: ${problem}`);
      if (problems.length > 0) throw new SettingsError(problems.join('\n'));
    },
  });
}
