import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';

const logger = resolve(import.meta.dirname, '../../../src/platform/logger.ts');

/** Runs a script that logs, and returns what it had written when it ended. */
async function outputOf(
  script: string,
  read: 'at once' | 'when it has written all it can',
): Promise<string[]> {
  const program = `import { createLogger, standardOutput } from ${JSON.stringify(logger)};
    const logger = createLogger({ process: 'test', instance: '1', level: 'info' }, standardOutput(process));
    ${script}`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const errors: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  const ended = new Promise((done) => child.once('close', done));
  if (read === 'when it has written all it can') {
    await waitUntil('it has logged everything', () =>
      Buffer.concat(errors).includes('logged everything') ? true : undefined,
    );
  }
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await ended;
  return Buffer.concat(chunks).toString().split('\n').slice(0, -1);
}

const numbersOf = (lines: readonly string[]): unknown[] =>
  lines.map((line) => (JSON.parse(line) as Record<string, unknown>)['n']);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test('a process that exits writes every line, complete and in sequence', async () => {
  const lines = await outputOf(
    `for (let n = 0; n < 3000; n += 1) logger.info({ n }, 'said');
     setTimeout(() => { for (let n = 3000; n < 6000; n += 1) logger.info({ n }, 'said'); process.exit(0); }, 5);`,
    'at once',
  );

  expect(numbersOf(lines)).toEqual(upTo(6000));
});

test('a slow reader does not delay the process, and misses nothing', async () => {
  const lines = await outputOf(
    `for (let n = 0; n < 3000; n += 1) logger.info({ n, filler: 'x'.repeat(500) }, 'said');
     setTimeout(() => console.error('logged everything'), 5);
     setTimeout(() => undefined, 60_000).unref();`,
    'when it has written all it can',
  );

  expect(numbersOf(lines)).toEqual(upTo(3000));
});
