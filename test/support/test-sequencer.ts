import { createRequire } from 'node:module';
import type { Test } from '@jest/test-result';
import type TestSequencer from '@jest/test-sequencer';

// TypeScript sees a CommonJS module here, and Node would import the package's ECMAScript module.
const require = createRequire(import.meta.url);
const { default: Sequencer } = require('@jest/test-sequencer') as typeof TestSequencer;

/**
 * Starts the slow test files first, so that no worker idles while another one runs a slow file at the end. First come the files of
 * browsers and of client libraries. Then come those of faults, which wait for most of their time, and those of whole systems, which
 * compute, in turns. The other files start between them: some of these wait for timers nearly all of their time. Files that wait would
 * leave the processors idle if they ran together. Jest alone sorts by the durations of the last run, and by size in a new clone. Small
 * files are the slow ones here.
 */
export default class SlowestFirst extends Sequencer {
  override async sort(tests: Test[]): Promise<Test[]> {
    const sorted = await super.sort(tests);
    const of = (folder: string): Test[] => sorted.filter(({ path }) => path.includes(folder));
    const slow = [
      ...of('/test/browser/'),
      ...of('/test/clients/'),
      ...inTurns(of('/test/faults/'), of('/test/e2e/')),
    ];
    return inTurns(
      slow,
      sorted.filter((test) => !slow.includes(test)),
    );
  }
}

/** One of each list in turn, then the rest of the longer one. */
const inTurns = (some: readonly Test[], others: readonly Test[]): Test[] =>
  [...(some.length > others.length ? some : others)].flatMap((_, at) => [
    ...some.slice(at, at + 1),
    ...others.slice(at, at + 1),
  ]);
