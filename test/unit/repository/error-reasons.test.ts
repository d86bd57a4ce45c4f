import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { errorReasons } from '../../../src/contract/error-reason.ts';
import { platformReasons } from '../../../src/platform/rpc/error-reason.ts';

const root = join(import.meta.dirname, '../../..');
const contracts = join(root, 'proto/gatehouse/v1');

const namesIn = (text: string): ReadonlySet<string> => new Set(text.match(/\b[A-Z][A-Z_]+\b/g));
const missingIn = (named: ReadonlySet<string>, reasons: object): readonly string[] =>
  Object.keys(reasons).filter((reason) => !named.has(reason));

test('the documentation names every reason for which any call may fail', async () => {
  const page = await readFile(join(root, 'docs/internal-events.md'), 'utf8');
  expect(missingIn(namesIn(page.split('## Errors')[1] ?? ''), platformReasons)).toEqual([]);
});

test('the comments of the contract name every other reason', async () => {
  const files = (await readdir(contracts)).filter((name) => name.endsWith('.proto'));
  const texts = await Promise.all(files.map((name) => readFile(join(contracts, name), 'utf8')));
  const others = Object.fromEntries(
    Object.entries(errorReasons).filter(([reason]) => !(reason in platformReasons)),
  );
  expect(missingIn(namesIn(texts.join('\n')), others)).toEqual([]);
});
