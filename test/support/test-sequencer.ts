import { createRequire } from 'node:module';
import type { Test } from '@jest/test-result';
import type TestSequencer from '@jest/test-sequencer';

// TypeScript sees a CommonJS module here, and Node would import the package's ECMAScript module.
const require = createRequire(import.meta.url);
const { default: Sequencer } = require('@jest/test-sequencer') as typeof TestSequencer;

/** The folders of the slow test files, the slowest first. */
const slowest = ['/test/browser/', '/test/faults/', '/test/e2e/'];

/**
 * Starts the slow test files first, so that no worker idles while another one runs a slow file at the end. The other files
 * start between them: some of these wait for timers nearly all of their time, and would leave the processors idle if they ran
 * together. Jest alone sorts by the durations of the last run, and by size in a new clone. Small files are the slow ones here.
 */
export default class SlowestFirst extends Sequencer {
  override async sort(tests: Test[]): Promise<Test[]> {
    const sorted = await super.sort(tests);
    const slow = slowest.flatMap((folder) => sorted.filter(({ path }) => path.includes(folder)));
    const others = sorted.filter((test) => !slow.includes(test));
    return [...slow.flatMap((test, at) => [test, ...others.slice(at, at + 1)]), ...others.slice(slow.length)];
  }
}
