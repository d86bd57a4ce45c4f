import { hostname } from 'node:os';
import { createLogger, standardOutput } from '../runtime/logger.ts';
import type { Logger } from '../runtime/logger.ts';

export interface Logging {
  /** Which of several processes of that name this is, as its logs and its peers have it. */
  readonly instance: string;
  readonly logger: Logger;
}

/** Has a process log to its standard output under its own name, such as "core". */
export function startLogging(
  name: string,
  config: {
    readonly GATEHOUSE_INSTANCE: string | undefined;
    readonly GATEHOUSE_LOG_LEVEL: string;
  },
): Logging {
  const instance = config.GATEHOUSE_INSTANCE ?? `${hostname()}:${process.pid}`;
  const logger = createLogger(
    { process: name, instance, level: config.GATEHOUSE_LOG_LEVEL },
    standardOutput(process),
  );
  return { instance, logger };
}
