import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { benchmark, namesOf, positiveNumber, wholeNumbers } from '../../../bench/command-line.ts';

const run = promisify(execFile);
const cwd = resolve(import.meta.dirname, '../../..');

test.each([
  ['main', 'bench'],
  ['compare', 'bench:compare'],
  ['guard', 'bench:guard'],
  ['dashboard', 'bench:dashboard'],
  ['restore', 'bench:restore'],
  ['waiting', 'bench:waiting'],
  ['webhooks/main', 'bench:webhooks'],
])('bench/%s.ts prints its options for --help, and starts nothing', async (file, command) => {
  const { stdout } = await run(process.execPath, [`bench/${file}.ts`, '--help'], { cwd });
  expect(stdout).toMatch(new RegExp(`^Usage: npm run ${command} -- \\[options\\]`));
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
