/**
 * The benchmark in half a minute. It compares four ratios at 64 connections with those of an idle machine, and reports
 * the result. With --strict it fails when a ratio is below half of the expected one. --update stores the measured ratios
 * as the expected ones.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadavg } from 'node:os';
import { benchmark } from './command-line.ts';
import { judgeRatios } from './judgement/guard.ts';
import type { ExpectedRatios, Verdict } from './judgement/guard.ts';
import { contendersOf, ratiosOf } from './judgement/ratios.ts';
import type { Ratio } from './judgement/ratios.ts';
import { measureLoad } from './parts/load.ts';
import { asFormatted } from './report/reports.ts';
import { prepare } from './system/prepare.ts';
import { withEverythingStopped } from './system/with-everything-stopped.ts';
import { missingTools } from './tools.ts';

const expectedFile = join(import.meta.dirname, 'expected-ratios.json');
const orders = 1_000;

function measure(guarded: readonly string[]): Promise<Ratio[]> {
  const contenders = contendersOf(guarded);
  return withEverythingStopped(async (cleanUps) => {
    const { measured } = await measureLoad(await prepare([orders], cleanUps), {
      connections: [64],
      seconds: 2,
      repeats: 2,
      warmUpSeconds: 1,
      cores: 1,
      facades: 1,
      profileFolder: '',
      includes: (name) => contenders.has(name),
    });
    return ratiosOf(measured).filter(({ name }) => guarded.includes(name));
  });
}

/** Stores the measured ratios, and keeps the expectation of one that was not measured. */
async function update(expected: ExpectedRatios, ratios: readonly Ratio[]): Promise<void> {
  const measured = Object.fromEntries(ratios.map(({ name, value }) => [name, Number(value.toFixed(2))]));
  await writeFile(expectedFile, await asFormatted(JSON.stringify({ ...expected, ...measured }), 'json'));
  console.log(`kept in ${expectedFile}`);
}

const inWords = ({ name, expected, measured, verdict }: Verdict): string =>
  `${verdict === 'halved' ? 'WARNING: halved: ' : ''}${name}: ${measured?.toFixed(2) ?? 'not measured'}, expected ${expected.toFixed(2)}`;

const options = benchmark(
  'bench:guard',
  'Measures four ratios, and warns about one below half of its expectation.',
)
  .option('--strict', 'fail when a ratio is below half of its expectation', false)
  .option('--update', 'keep the measured ratios as the expected ones', false)
  .parse()
  .opts<{ readonly strict: boolean; readonly update: boolean }>();
const missing = missingTools();
if (missing !== undefined) {
  console.error(missing);
  process.exitCode = options.strict ? 1 : 0;
} else {
  const [loadBefore = Number.NaN] = loadavg();
  // The file that --update writes. It names the ratios to measure.
  const expected = JSON.parse(await readFile(expectedFile, 'utf8')) as ExpectedRatios;
  const ratios = await measure(Object.keys(expected));
  if (options.update) await update(expected, ratios);
  const verdicts = judgeRatios(expected, ratios);
  console.log(`\nload average before: ${loadBefore.toFixed(1)}`);
  for (const verdict of verdicts) console.log(inWords(verdict));
  const halved = verdicts.filter(({ verdict }) => verdict !== 'as expected');
  if (halved.length > 0)
    console.log(
      'Measure again on a machine that does nothing else; then look with: npm run bench -- --profile <folder>',
    );
  if (options.strict && halved.length > 0) process.exitCode = 1;
}
