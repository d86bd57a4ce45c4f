// Prints the totals of a file that `jest --json --outputFile` wrote. The last line is `N passed, N failed`.
import { readFileSync } from 'node:fs';

const file = process.argv[2];

function readTotals() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    console.error(`There are no totals: jest left no readable result (${error.message}).`);
    return process.exit(1);
  }
}

const totals = readTotals();
const unable = totals.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && !assertionResults.length,
);
for (const { name } of unable) console.log(`could not run: ${name}`);
for (const name of totals.flaky ?? [])
  console.log(`FLAKY: ${name} failed beside other tests and passed alone. Repair it.`);
if (totals.numPendingTests > 0) console.log(`${totals.numPendingTests} skipped`);
console.log(`${totals.numPassedTests} passed, ${totals.numFailedTests} failed`);
process.exitCode = totals.success && totals.numTotalTests > 0 ? 0 : 1;
