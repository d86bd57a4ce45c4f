import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setLogger } from '@grpc/grpc-js';
import { requireTimeToStop, stopInOrder } from '../../src/platform/lifecycle.ts';
import type { Stoppable } from '../../src/platform/lifecycle.ts';
import { createLogger } from '../../src/platform/logger.ts';
import type { Logger } from '../../src/platform/logger.ts';
import type { ProcessEnvironment } from '../../src/platform/settings/read-settings.ts';
import type { GatehouseProcess, LogLine } from './gatehouse-process.ts';
import { parseLogLine, withPorts } from './gatehouse-process.ts';
import { waitUntil } from './wait-until.ts';

/** The functions through which a main file uses `process`: settings, output and signals. */
interface ProcessBoundary {
  readonly readSettingsOrExit: <Config>(read: (environment: ProcessEnvironment) => Config) => Config;
  readonly exitForSettings: (error: Error) => never;
  readonly startLogging: (name: string, config: LogConfig) => { instance: string; logger: Logger };
  readonly stopOnSignal: (logger: Logger, parts: readonly Stoppable[]) => void;
}

interface LogConfig {
  readonly GATEHOUSE_INSTANCE: string | undefined;
  readonly GATEHOUSE_LOG_LEVEL: string;
}

type RunMain = (boundary: ProcessBoundary) => Promise<void>;

const inline = '?inline';
const boundaryImport = /^import \{[\w, ]+\} from '[./]+\/(?:read-settings|start-logging|lifecycle)\.ts';$/gm;
const boundaryNames = '{ readSettingsOrExit, exitForSettings, startLogging, stopOnSignal }';

/*
 * A main file becomes a function that can run many times, because a module is never unloaded. Its constants would keep each stopped process
 * in memory.
 */
registerHooks({
  load(url, context, nextLoad) {
    if (!url.endsWith(inline)) return nextLoad(url, context);
    const lines = readFileSync(fileURLToPath(url), 'utf8').replaceAll(boundaryImport, '').split('\n');
    const lastImport = lines.findLastIndex((line) => / from '[^']+';$/.test(line));
    // On the same line, so that the lines of stack traces stay right.
    const begun = lines.with(lastImport, `${lines[lastImport]} export default async (${boundaryNames}) => {`);
    return { format: 'module-typescript', source: [...begun, '};'].join('\n'), shortCircuit: true };
  },
});

const silent = (): void => undefined;
setLogger({ error: silent, info: silent, debug: silent });

/**
 * Runs `src/main/<name>.ts` within this process, with its own settings, log, listeners and connections. That takes a
 * tenth of the time of a process of its own, because the modules are loaded already. It cannot be killed or frozen.
 */
export async function startInline(
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<GatehouseProcess> {
  if ('NODE_OPTIONS' in settings)
    throw new Error(`${name} has NODE_OPTIONS: start it as a process of its own`);
  const environment = { GATEHOUSE_INSTANCE: name, ...(await withPorts(settings)) };
  const log: LogLine[] = [];
  const write = (line: string): void => void log.push(parseLogLine(line));
  const parts: ((signal: NodeJS.Signals) => Promise<void>)[] = [];
  const boundary: ProcessBoundary = {
    readSettingsOrExit: (read) => read(environment),
    exitForSettings: (error) => {
      throw error;
    },
    startLogging(process, { GATEHOUSE_INSTANCE: instance = process, GATEHOUSE_LOG_LEVEL: level }) {
      return { instance, logger: createLogger({ process, instance, level }, { write }) };
    },
    stopOnSignal(logger, stoppable) {
      requireTimeToStop(stoppable);
      parts.push((signal) => stopInOrder(logger, stoppable, signal));
    },
  };
  const isApart = (what: string) => (): never => {
    throw new Error(`${name} cannot ${what}: start the stack with ownProcesses`);
  };
  let exit: Promise<number> | undefined;
  const endAfter = async (signal: NodeJS.Signals): Promise<number> => {
    // A test file may keep this process for ever. Its parts must not be kept.
    for (const stop of parts.splice(0)) await stop(signal);
    return 0;
  };
  // The process does not get jest's arguments.
  process.argv.splice(2);
  const main = (await import(new URL(`../../src/main/${name}.ts${inline}`, import.meta.url).href)) as {
    default: RunMain;
  };
  await main.default(boundary);
  const ready = await waitUntil(`${name} is ready`, () => log.find(({ msg }) => msg === 'ready'));
  return {
    log,
    ready,
    stop: (signal = 'SIGTERM') =>
      signal === 'SIGKILL' ? isApart('be killed')() : (exit ??= endAfter(signal)),
    get pid(): number {
      return isApart('tell its process id')();
    },
    get exited(): Promise<number | null> {
      return isApart('exit')();
    },
    signal: isApart('be sent a signal'),
    leaveLogUnread: isApart('lose the reader of its log'),
  };
}
