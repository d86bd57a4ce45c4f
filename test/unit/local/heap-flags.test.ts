import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { heapEnvironment, heapFlags } from '../../../src/main/local/heap-flags.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8');

test.each(['core', 'rest-facade'])(
  '%s has the same heap in a container of docker-compose.yml',
  async (name) => {
    expect(await read('docker-compose.yml')).toContain(
      `command: node ${heapFlags.join(' ')} src/main/${name}.ts\n`,
    );
  },
);

test('core has the same heap in the image by itself', async () => {
  expect(await read('Dockerfile')).toContain(
    `CMD [${['node', ...heapFlags, 'src/main/core.ts'].map((part) => `"${part}"`).join(', ')}]`,
  );
});

test('the image has the same of glibc', async () => {
  const [[name, value] = []] = Object.entries(heapEnvironment);
  expect(await read('Dockerfile')).toMatch(new RegExp(`^ENV .*\\b${name}=${value}$`, 'm'));
});
