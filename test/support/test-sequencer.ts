import { createRequire } from 'node:module';
import type { Test } from '@jest/test-result';
import type TestSequencer from '@jest/test-sequencer';

// TypeScript sees a CommonJS module here, and Node would import the package's ECMAScript module.
const require = createRequire(import.meta.url);
const { default: Sequencer } = require('@jest/test-sequencer') as typeof TestSequencer;

/** The folders of the slow test files, the slowest first. Every other folder comes after them. */
const slowest = ['/test/browser/', '/test/faults/', '/test/e2e/'];

/**
 * Starts the slow test files first, so that no worker idles while another one runs a slow file at the end. Jest alone
 * sorts by the durations of the last run, and by size in a new clone. Small files are the slow ones here.
 */
export default class SlowestFirst extends Sequencer {
  override async sort(tests: Test[]): Promise<Test[]> {
    const rankOf = ({ path }: Test): number => {
      const rank = slowest.findIndex((folder) => path.includes(folder));
      return rank === -1 ? slowest.length : rank;
    };
    return (await super.sort(tests)).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
