import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beginLog, createLogBounds } from './log-file.ts';
import type { LogFile } from './log-file.ts';
import { supervise } from './supervisor.ts';
import type { ProcessSpec, SupervisedProcess } from './supervisor.ts';

/** The processes of one machine. Each may need those started before it. */
export interface ProcessStack {
  /** Starts independent processes, and returns when all are ready. */
  readonly start: (...specs: readonly ProcessSpec[]) => Promise<void>;
  /** Stops all processes in reverse order. */
  readonly stop: () => Promise<void>;
}

const logCheckMs = 10_000;

/** An empty stack. Its processes log to `<logFolder>/<name>.log`. */
export async function stackProcesses(options: {
  readonly logFolder: string;
  readonly report: (line: string) => void;
  readonly warn: (line: string) => void;
  readonly signal: AbortSignal;
}): Promise<ProcessStack> {
  const { logFolder, report, warn, signal } = options;
  await mkdir(logFolder, { recursive: true, mode: 0o700 });
  const levels: SupervisedProcess[][] = [];
  const logs: LogFile[] = [];
  const boundLog = createLogBounds(warn);
  const logCheck = setInterval(() => void Promise.all(logs.map(boundLog)), logCheckMs);

  return {
    start: async (...specs) => {
      const level: SupervisedProcess[] = [];
      levels.push(level);
      const results = await Promise.allSettled(
        specs.map(async (spec) => {
          const since = performance.now();
          const log = await beginLog(join(logFolder, `${spec.name}.log`));
          level.push(await supervise(spec, { log, warn, signal }));
          logs.push(log);
          report(`${spec.name}: ${spec.address} (${((performance.now() - since) / 1000).toFixed(1)} s)`);
        }),
      );
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
    stop: async () => {
      clearInterval(logCheck);
      for (const level of levels.toReversed())
        await Promise.all(level.map((supervised) => supervised.stop()));
    },
  };
}
