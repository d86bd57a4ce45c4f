import { url as debuggerUrl } from 'node:inspector';
import {
  exitOnEarlySignals,
  exitOnUnhandledErrors,
  ignoreDebuggerSignal,
  stopOnSignal,
} from '../../../src/platform/lifecycle.ts';
import { createLogger, standardOutput } from '../../../src/platform/logger.ts';

// A small process for lifecycle.test.ts, whose first argument names its fault.

const logger = createLogger({ process: 'small', instance: 'small', level: 'info' }, standardOutput(process));
const [, , fault = ''] = process.argv;
exitOnUnhandledErrors(process, logger);
ignoreDebuggerSignal(process, logger);
if (fault.startsWith('has the id 1')) {
  exitOnEarlySignals(
    {
      pid: 1,
      on: process.on.bind(process),
      listenerCount: process.listenerCount.bind(process),
      exit: process.exit.bind(process),
    },
    logger,
  );
}

const awake = setInterval(() => undefined, 1000);

const parts = [
  {
    name: 'first',
    stop: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      logger.info('first stopped');
    },
    timeoutMs: 1_000,
  },
  {
    name: 'second',
    stop: () => {
      if (fault === 'hang' || fault === 'hang for long') return new Promise(() => undefined);
      if (fault === 'reject') return Promise.reject(new Error('would not'));
      if (fault === 'throw') throw new Error('could not');
      logger.info('second stopped');
      return undefined;
    },
    timeoutMs: fault === 'has no time' ? 7_501 : fault === 'hang for long' ? 7_000 : 200,
  },
  {
    name: 'third',
    stop: () => {
      clearInterval(awake);
      logger.info({ debugger: debuggerUrl() ?? 'closed' }, 'third stopped');
    },
    timeoutMs: 1_000,
  },
];
if (fault !== 'has the id 1 and starts') stopOnSignal(logger, parts);

logger.info('ready');

if (fault === 'talkative') {
  for (let n = 0; n < 2_000; n += 1) logger.info({ n, filler: 'x'.repeat(1_000) }, 'said');
  setTimeout(() => console.error('has said all'), 5);
}

if (fault === 'uncaught') setImmediate(() => void JSON.parse('{'));
if (fault === 'unhandled') void Promise.reject(new Error('nobody looks'));
