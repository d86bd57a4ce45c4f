import manifest from '../../package.json' with { type: 'json' };
import type { Stoppable } from '../platform/lifecycle.ts';
import { startTracing as start } from '../platform/tracing/tracing.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { tracingSettingsOf } from '../platform/tracing/tracing-settings.ts';
import type { TracingVariables } from '../platform/tracing/tracing-settings.ts';
import type { Logging } from './start-logging.ts';

/** The time limit at shutdown for sending the rest of the spans. */
const lastSpansMs = 500;

export interface ProcessTracing {
  /** Undefined when tracing is off. */
  readonly tracing: Tracing | undefined;
  /** Stopped last, because stopping the other parts ends spans. */
  readonly part: Stoppable;
}

/** Starts the tracing of a process under its name, such as "core". */
export async function startTracing(
  name: string,
  config: TracingVariables,
  { instance, logger }: Logging,
): Promise<ProcessTracing> {
  const settings = tracingSettingsOf(config);
  const tracing = await start({
    settings,
    process: name,
    instance,
    version: manifest.version,
    logger,
    random: Math.random,
  });
  if (tracing !== undefined) logger.info({ ratio: settings.ratio }, 'tracing is on');
  const stop = (): Promise<void> | undefined => tracing?.close();
  return { tracing, part: { name: 'tracing', stop, timeoutMs: lastSpansMs } };
}
