import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { listFiles, root } from './repository-files.ts';

let files: readonly string[];

beforeAll(async () => {
  const sources = await listFiles('*.ts', '*.js', '*.mjs');
  files = sources.filter((file) => !file.startsWith('src/gen/'));
});

test('file names are in kebab case', () => {
  expect(files.filter((file) => !/^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)+$/.test(basename(file)))).toEqual(
    [],
  );
});

test('no file is named for unrelated functions, and none re-exports a folder', () => {
  const drawer = /(^|[/-])(utils?|helpers?|common|misc|shared|index)\.(ts|js|mjs)$/;

  expect(files.filter((file) => drawer.test(file))).toEqual([]);
});

test('a disabled lint rule has a reason', async () => {
  const unexplained: string[] = [];
  for (const file of files) {
    const lines = (await readFile(join(root, file), 'utf8')).split('\n');
    lines.forEach((line, index) => {
      if (/\/[/*]\s*(?:eslint|oxlint)-disable/.test(line) && !/ -- \S/.test(line))
        unexplained.push(`${file}:${index + 1}`);
    });
  }

  expect(unexplained).toEqual([]);
});

test('links in the documentation lead to existing files', async () => {
  const dead: string[] = [];
  for (const page of await listFiles('*.md')) {
    const links = (await readFile(join(root, page), 'utf8')).matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g);
    for (const [, target = ''] of links) {
      if (/^[a-z]+:/.test(target) || existsSync(join(root, dirname(page), target))) continue;
      dead.push(`${page} -> ${target}`);
    }
  }

  expect(dead).toEqual([]);
});
