import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..', '..');

let files: readonly string[];

beforeAll(async () => {
  const { stdout } = await promisify(execFile)(
    'git',
    ['ls-files', 'src', 'test', 'bench', 'scripts', 'tools'],
    { cwd: root },
  );
  files = stdout.split('\n').filter((file) => /\.(ts|js|mjs)$/.test(file) && !file.startsWith('src/gen/'));
});

test('file names are in kebab case', () => {
  expect(files.filter((file) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)+$/.test(basename(file)))).toEqual([]);
});

test('no file is a drawer for odds and ends, and none re-exports a folder', () => {
  const drawer = /(^|[/-])(utils?|helpers?|common|misc|shared|index)\.(ts|js|mjs)$/;

  expect(files.filter((file) => drawer.test(file))).toEqual([]);
});

test('whoever switches a lint rule off says why', async () => {
  const unexplained: string[] = [];
  for (const file of files) {
    const lines = (await readFile(join(root, file), 'utf8')).split('\n');
    lines.forEach((line, index) => {
      if (/\/[/*]\s*eslint-disable/.test(line) && !/ -- \S/.test(line))
        unexplained.push(`${file}:${index + 1}`);
    });
  }

  expect(unexplained).toEqual([]);
});
