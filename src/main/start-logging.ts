import { hostname } from 'node:os';
import { setLogger } from '@grpc/grpc-js';
import { unknownSettings } from '../contract/setting-names.ts';
import { exitOnEarlySignals, exitOnUnhandledErrors, ignoreDebuggerSignal } from '../platform/lifecycle.ts';
import { createLogger, standardOutput } from '../platform/logger.ts';
import type { Logger } from '../platform/logger.ts';
import { explainPort } from './explain-port.ts';

export interface Logging {
  /** Distinguishes processes with the same name, in logs and to peers. */
  readonly instance: string;
  readonly logger: Logger;
}

/**
 * Makes a process log to its standard output under its name, such as "core". An unhandled error is then logged before
 * it ends the process. `walletSecrets`: the variables that configured wallets name.
 */
export function startLogging(
  name: string,
  config: {
    readonly GATEHOUSE_INSTANCE: string | undefined;
    readonly GATEHOUSE_LOG_LEVEL: string;
  },
  walletSecrets: readonly string[] = [],
): Logging {
  const instance = config.GATEHOUSE_INSTANCE ?? `${hostname()}:${process.pid}`;
  const logger = createLogger(
    { process: name, instance, level: config.GATEHOUSE_LOG_LEVEL },
    standardOutput(process),
  );
  exitOnUnhandledErrors(process, logger, (error) => explainPort(error, config));
  exitOnEarlySignals(process, logger);
  ignoreDebuggerSignal(process, logger);
  const complain = (text: unknown): void =>
    logger.warn({ complaint: firstWords(text) }, 'grpc-js reported an error');
  setLogger({ error: complain, info: complain, debug: complain });
  for (const sentence of unknownSettings(process.env, walletSecrets)) logger.warn(sentence);
  return { instance, logger };
}

/**
 * The first four words of a message of grpc-js, such as "Failed to add metadata". The rest may quote the names and values of the
 * caller's headers, which may be secret in forms that the logger does not know.
 */
const firstWords = (text: unknown): string =>
  /^[^:"]{0,100}/.exec(String(text))?.[0].split(' ', 4).join(' ') ?? '';
