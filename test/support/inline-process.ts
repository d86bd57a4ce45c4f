import { registerHooks } from 'node:module';
import { setLogger } from '@grpc/grpc-js';
import type { GatehouseProcess, LogLine } from './gatehouse-process.ts';
import { parseLogLine, withPorts } from './gatehouse-process.ts';
import { waitUntil } from './wait-until.ts';

/** The parts that separate processes of Gatehouse do not share: settings, output and signals. */
export interface InlineProcess {
  readonly settings: Readonly<Record<string, string>>;
  readonly write: (line: string) => void;
  readonly onStop: (stop: (signal: NodeJS.Signals) => Promise<void>) => void;
}

const running = new Map<string, InlineProcess>();
const boundary = new URL('./inline-process-boundary.ts', import.meta.url).href;
const processBound = /\/(?:read-settings|start-logging|lifecycle)\.ts$/;
let started = 0;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const query = /\/src\/main\/[\w-]+\.ts(\?inline=\d+)$/.exec(context.parentURL ?? '')?.[1];
    if (query === undefined || !processBound.test(specifier)) return nextResolve(specifier, context);
    return { url: boundary + query, shortCircuit: true };
  },
});

const silent = (): void => undefined;
setLogger({ error: silent, info: silent, debug: silent });

/** The process whose main file, or one that it imports, has this URL. */
export function inlineProcessOf(url: string): InlineProcess {
  const found = running.get(new URL(url).search);
  if (found === undefined) throw new Error(`${url} belongs to no process`);
  return found;
}

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
  const own = await withPorts(settings);
  started += 1;
  const query = `?inline=${started}`;
  const log: LogLine[] = [];
  const parts: ((signal: NodeJS.Signals) => Promise<void>)[] = [];
  running.set(query, {
    settings: { GATEHOUSE_INSTANCE: name, ...own },
    write: (line) => void log.push(parseLogLine(line)),
    onStop: (stop) => void parts.push(stop),
  });
  const isApart = (what: string) => (): never => {
    throw new Error(`${name} cannot ${what}: start the stack with ownProcesses`);
  };
  let exit: Promise<number> | undefined;
  const endAfter = async (signal: NodeJS.Signals): Promise<number> => {
    for (const stop of parts) await stop(signal);
    running.delete(query);
    return 0;
  };
  // The process does not get jest's arguments.
  process.argv.splice(2);
  await import(new URL(`../../src/main/${name}.ts`, import.meta.url).href + query);
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
    neglectLog: isApart('lose the reader of its log'),
  };
}
