// `npm run check` runs all checks of the sources. `npm run check -- lint format` runs only these two.
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ROOT, runLocal } from './run-local.mjs';

const folders = ['src', 'test', 'bench', 'examples', 'clients', 'scripts', 'tools'].filter((folder) =>
  existsSync(join(ROOT, folder)),
);

const STEPS = [
  { name: 'format', command: ['oxfmt', '--list-different'], remedy: 'npm run format' },
  // Types too: the linter needs them, so that a second run of the compiler would repeat its work. The compiler is a Go program.
  // Fewer collections of its garbage save a tenth of the CPU, and need no more memory at its peak.
  { name: 'lint', command: ['env', 'GOGC=400', 'oxlint'] },
  { name: 'imports', command: ['depcruise', '--config', '.dependency-cruiser.js', ...folders] },
  { name: 'proto-lint', command: ['buf', 'lint'] },
  {
    name: 'proto-format',
    command: ['buf', 'format', '-d', '--exit-code', 'proto'],
    remedy: 'npm run format',
  },
  { name: 'generated', command: ['node', 'tools/generated.mjs'] },
  { name: 'breaking', command: ['node', 'tools/breaking.mjs'] },
  { name: 'clients', command: ['node', 'scripts/generate-clients.ts', '--check'], remedy: 'npm run clients' },
  { name: 'api-breaking', command: ['node', 'tools/api-breaking.mjs'] },
];

const SKIPPED = /^skipped: (.*)$/m;

async function runStep({ name, command, remedy }) {
  const startedAt = performance.now();
  const { code, output } = await runLocal(command);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (code !== 0) {
    const hint = remedy ? `\n  to repair it: ${remedy}` : '';
    console.log(`\n--- ${name}: ${command.join(' ')}\n${output.trimEnd()}${hint}`);
    return { name, result: 'FAILED', seconds, note: '' };
  }
  const reason = SKIPPED.exec(output)?.[1];
  return { name, result: reason ? 'skipped' : 'ok', seconds, note: reason ?? '' };
}

/** Runs all steps, several at a time. The results are in the order of the steps. */
async function runSteps(steps) {
  const results = new Array(steps.length);
  let next = 0;
  const worker = async () => {
    while (next < steps.length) {
      const index = next++;
      results[index] = await runStep(steps[index]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), steps.length) }, worker));
  return results;
}

function chooseSteps(names) {
  const known = STEPS.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`There is no step called ${unknown.join(', ')}. The steps are: ${known.join(', ')}.`);
    process.exit(2);
  }
  return names.length === 0 ? STEPS : STEPS.filter(({ name }) => names.includes(name));
}

if (!existsSync(join(ROOT, 'node_modules', '.bin', 'oxlint'))) {
  console.error('The tools are not installed: run `npm install` first.');
  process.exit(2);
}
const results = await runSteps(chooseSteps(process.argv.slice(2)));
console.log('');
for (const { name, result, seconds, note } of results) {
  console.log(`${name.padEnd(14)}${result.padEnd(9)}${seconds.padStart(6)} s  ${note}`.trimEnd());
}
process.exitCode = results.some(({ result }) => result === 'FAILED') ? 1 : 0;
