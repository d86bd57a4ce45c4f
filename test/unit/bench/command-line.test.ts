import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';
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

/** Runs files with --help one after the other. In a process for each, they would load the same modules eleven times. */
const helpOfEach = `
  process.exit = (code) => {
    console.log('exit code ' + code + '\\0');
    throw new Error('the process would exit');
  };
  for (const file of process.argv.slice(1)) {
    process.argv = [process.execPath, file, '--help'];
    await import(file).catch(() => undefined);
    process.exitCode = 0;
  }`;
let helps: readonly string[];
beforeAll(async () => {
  const files = benchmarks.map(([, command]) => resolve(cwd, command.split(' ')[1] ?? ''));
  const program = ['--input-type=module', '--eval', helpOfEach, ...files];
  helps = (await run(process.execPath, program, { cwd })).stdout.split('\0\n');
});

test.each(benchmarks.map(([name], index) => [name, index] as const))(
  '%s prints its options for --help, and starts nothing',
  (name, index) => {
    expect(helps[index]).toMatch(new RegExp(`^Usage: npm run ${name} -- \\[options\\][^]*\\nexit code 0$`));
  },
);

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
