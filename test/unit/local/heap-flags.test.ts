import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { heapEnvironment, heapFlags } from '../../../src/main/local/heap-flags.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8');

test('core, rest-facade, checkout, dashboard and webhooks have the same heap in every deployment', async () => {
  expect(await read('scripts/run-process')).toContain(
    `  core | rest-facade | checkout | dashboard | wallets | webhooks) flags='${heapFlags.join(' ')}' ;;\n`,
  );
});

test('the image has the same settings of glibc as the other deployments', async () => {
  const [[name, value] = []] = Object.entries(heapEnvironment);
  expect(await read('Dockerfile')).toMatch(new RegExp(`^ENV .*\\b${name}=${value}$`, 'm'));
});
