import { describe, expect, test } from '@jest/globals';
import { untilAborted } from '../../../src/platform/until-aborted.ts';

async function* numbers(): AsyncGenerator<number> {
  for (let next = 1; next <= 3; next += 1) yield await Promise.resolve(next);
}

async function* silence(): AsyncGenerator<number> {
  yield 1;
  await new Promise(() => undefined);
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of source) values.push(value);
  return values;
}

describe('a source that can be aborted', () => {
  test('yields everything when it is not aborted', async () => {
    expect(await all(untilAborted(numbers(), new AbortController().signal))).toEqual([1, 2, 3]);
  });

  test('yields nothing when it was aborted before', async () => {
    expect(await all(untilAborted(numbers(), AbortSignal.abort()))).toEqual([]);
  });

  test('ends while it waits for a silent source', async () => {
    const stop = new AbortController();
    const values: number[] = [];
    for await (const value of untilAborted(silence(), stop.signal)) {
      values.push(value);
      setImmediate(() => stop.abort());
    }
    expect(values).toEqual([1]);
  });

  test('fails with the error of the source', async () => {
    async function* failing(): AsyncGenerator<number> {
      yield 1;
      await Promise.reject(new Error('no more'));
    }
    await expect(all(untilAborted(failing(), new AbortController().signal))).rejects.toThrow('no more');
  });
});
