import { createRequire, enableCompileCache, flushCompileCache, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { compareEveryValue } from './compare-every-value.ts';
import { useGlobals } from './jest-globals.ts';
import type { Globals } from './jest-globals.ts';
import { takeUnfinishedWaits } from './wait-until.ts';

type Runner = (...args: [object, object, object, object, string, ...unknown[]]) => Promise<TestFileResult>;
interface TestFileResult {
  readonly numFailingTests: number;
}

const require = createRequire(import.meta.url);
const { default: runCircus } = require('jest-circus/runner') as { readonly default: Runner };
const globalsUrl = new URL('./jest-globals.ts', import.meta.url).href;
const timesRun = new Map<string, number>();

enableCompileCache();
registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === '@jest/globals' ? { url: globalsUrl, shortCircuit: true } : nextResolve(specifier, context),
});

/**
 * Runs a test file with jest's own runner, and lets Node load the file and its imports. Jest would load every module
 * again for each test file, without a compile cache. So the test files of a worker share modules, and no test may
 * replace a module or change a global. See docs/adr/0024-node-loads-the-tests.md.
 */
export default async function runTestFile(...args: Parameters<Runner>): Promise<TestFileResult> {
  const [globalConfig, config, environment, runtime, path, ...rest] = args;
  const natively = {
    requireInternalModule: (internal: string): unknown => {
      // Circus keeps its event handlers in a global. Those of the file before would report into that file's result.
      Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS'));
      Reflect.deleteProperty(require.cache, internal);
      return require(internal);
    },
    setGlobalsForRuntime: (globals: Globals): void => {
      // Jest keeps the testers of a worker.
      if (timesRun.size === 0) globals.expect.addEqualityTesters([compareEveryValue]);
      useGlobals(globals);
    },
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: async (file: string): Promise<void> => {
      const times = timesRun.get(file) ?? 0;
      timesRun.set(file, times + 1);
      // In watch mode the same file runs again.
      await import(`${pathToFileURL(file).href}${times === 0 ? '' : `?run=${times}`}`);
    },
  };
  // Jest maps every stack of up to 100 frames back to a compiled source. No file is compiled, and some errors are normal.
  Reflect.deleteProperty(Error, 'prepareStackTrace');
  Error.stackTraceLimit = 10;
  const nativeRuntime = Object.assign(Object.create(runtime) as object, natively);
  const running = runCircus(globalConfig, config, environment, nativeRuntime, path, ...rest);
  // Otherwise it is written when the worker exits, which has a time limit.
  const result = await running.finally(flushCompileCache);
  // A failed test may leave a wait, and this error would replace its own.
  const left = takeUnfinishedWaits();
  if (left.length > 0 && result.numFailingTests === 0)
    throw new Error(`the tests have ended, and these waits have not: ${left.join('; ')}`);
  return result;
}
