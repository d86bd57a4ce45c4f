import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { benchmark, namesOf, positiveNumber, wholeNumbers } from '../../../bench/command-line.ts';

const run = promisify(execFile);
const cwd = resolve(import.meta.dirname, '../../..');

const { scripts } = JSON.parse(await readFile(resolve(cwd, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const benchmarks = Object.entries(scripts).filter(([name]) => /^bench(?::|$)/.test(name));

test('every benchmark of package.json is a file that Node runs', () => {
  expect(benchmarks.map(([name]) => name)).toEqual(
    expect.arrayContaining(['bench', 'bench:cpu', 'bench:model']),
  );
  for (const [, command] of benchmarks) expect(command).toMatch(/^node bench\/[\w/-]+\.ts$/);
});

test.each(benchmarks)('%s prints its options for --help, and starts nothing', async (name, command) => {
  const [, file = ''] = command.split(' ');
  const { stdout } = await run(process.execPath, [file, '--help'], { cwd });
  expect(stdout).toMatch(new RegExp(`^Usage: npm run ${name} -- \\[options\\]`));
});

test.each([
  [['--second', '5'], /unknown option '--second'\n\(Did you mean --seconds\?\)/],
  [['--seconds', '1,0'], /argument '1,0' is invalid\. It must be a whole number from 1 on\./],
  [['--minutes', '0'], /argument '0' is invalid\. It must be a number above 0\./],
  [['--parts', 'load,lod'], /argument 'load,lod' is invalid\. There is no lod\. Choose from load, size\./],
  [['now'], /too many arguments/],
])('a benchmark refuses %j with a reason, and mentions --help', (args, reason) => {
  let errors = '';
  const command = benchmark('bench', 'Measures.')
    .option('--seconds <numbers>', '', wholeNumbers)
    .option('--minutes <number>', '', positiveNumber)
    .option('--parts <names>', '', namesOf(['load', 'size']))
    .exitOverride()
    .configureOutput({ writeErr: (text) => void (errors += text) });
  expect(() => command.parse(args, { from: 'user' })).toThrow();
  expect(errors).toMatch(reason);
  expect(errors).toContain('Add --help to see all options.');
});
