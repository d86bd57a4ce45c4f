/** A dispatcher in a process of its own, logging to its output: `dispatcher-process.ts <database URL> <options as JSON>`. */
import { startDispatcher } from './dispatcher.ts';
import type { DispatcherOptions } from './dispatcher.ts';

const [, , databaseUrl = '', options = '{}'] = process.argv;
await startDispatcher(databaseUrl, JSON.parse(options) as DispatcherOptions, (line) =>
  process.stdout.write(line),
);
// Exits with the test, if the test exits without killing it.
process.stdin.resume().once('end', () => process.exit());
