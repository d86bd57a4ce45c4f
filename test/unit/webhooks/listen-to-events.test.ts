import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { refusalOf } from '../../support/rpc-failure.ts';
import { createListen } from './silent-listening.ts';

test('keep-alive messages leave nothing behind while no event arrives', async () => {
  // To count objects, Node collects all garbage, which takes seconds in the heap of many tests.
  const program = join(import.meta.dirname, 'silent-listening.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program]);

  expect(Number(stdout)).toBeLessThan(50);
});

test('the listeners of one merchant leave room for those of others', async () => {
  const listen = createListen();
  const leaving = new AbortController();
  const begin = async (merchantId: string) => {
    const heard = listen(merchantId, leaving.signal)[Symbol.asyncIterator]();
    await heard.next();
    return heard;
  };
  const heard = [];
  for (let each = 0; each < 100; each += 1) heard.push(await begin('mer_1'));

  expect(await refusalOf(begin('mer_1'))).toBe('OVERLOADED');
  heard.push(await begin('mer_2'));

  await heard[0]?.return?.();
  heard.push(await begin('mer_1'));
  leaving.abort();
  for (const each of heard) await each.return?.();
});
