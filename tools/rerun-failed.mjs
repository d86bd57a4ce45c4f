// Runs the failed test files once more, one at a time. A file that fails again is broken. A file that passes is flaky: it
// is reported at the end, and must be repaired too. Usage: <jest's results> <a folder>
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mergeRuns } from './merge-runs.mjs';

/** If more files fail, the cause is not a flaky test. */
const maxFiles = 3;

const [resultsFile = '', scratch = ''] = process.argv.slice(2);
const readResults = (file) => JSON.parse(readFileSync(file, 'utf8'));

const first = readResults(resultsFile);
const failed = first.testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
if (failed.length === 0 || failed.length > maxFiles) process.exit(1);

console.log(`\nOnce more, alone:\n${failed.join('\n')}\n`);
const secondFile = join(scratch, 'second.json');
// A failed test may leave a server open, and jest would wait for it for ever.
const options = [
  '--ci',
  '--runInBand',
  '--forceExit',
  '--json',
  `--outputFile=${secondFile}`,
  '--runTestsByPath',
];
spawnSync('npm', ['test', '--', ...options, ...failed], { stdio: 'inherit' });
const merged = mergeRuns(first, readResults(secondFile));
writeFileSync(resultsFile, JSON.stringify(merged));
process.exitCode = merged.success ? 0 : 1;
