import { createLogger } from '../../src/platform/logger.ts';
import type { Logger, LoggerOptions } from '../../src/platform/logger.ts';
import type { LogLine } from './gatehouse-process.ts';

/** A logger whose lines are kept, from `debug` on unless `options` name another level. */
export function keptLog(options: Partial<LoggerOptions> = {}): {
  readonly logger: Logger;
  readonly log: LogLine[];
} {
  const log: LogLine[] = [];
  const destination = { write: (line: string) => void log.push(JSON.parse(line) as LogLine) };
  return {
    logger: createLogger({ process: 'test', instance: 'test', level: 'debug', ...options }, destination),
    log,
  };
}
