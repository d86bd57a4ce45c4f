/** Replaces `read-settings.ts`, `start-logging.ts` and `lifecycle.ts` in a main file that `inline-process.ts` runs. */
import { stopInOrder } from '../../src/platform/lifecycle.ts';
import type { Stoppable } from '../../src/platform/lifecycle.ts';
import { createLogger } from '../../src/platform/logger.ts';
import type { Logger } from '../../src/platform/logger.ts';
import type { ProcessEnvironment } from '../../src/platform/settings/read-settings.ts';
import { inlineProcessOf } from './inline-process.ts';

const { settings, write, onStop } = inlineProcessOf(import.meta.url);

export const readSettingsOrExit = <Config>(read: (environment: ProcessEnvironment) => Config): Config =>
  read(settings);

export const exitForSettings = (error: Error): never => {
  throw error;
};

export function startLogging(
  name: string,
  config: { readonly GATEHOUSE_INSTANCE: string | undefined; readonly GATEHOUSE_LOG_LEVEL: string },
): { readonly instance: string; readonly logger: Logger } {
  const instance = config.GATEHOUSE_INSTANCE ?? name;
  const logger = createLogger({ process: name, instance, level: config.GATEHOUSE_LOG_LEVEL }, { write });
  return { instance, logger };
}

export const stopOnSignal = (logger: Logger, parts: readonly Stoppable[]): void =>
  onStop((signal) => stopInOrder(logger, parts, signal));
