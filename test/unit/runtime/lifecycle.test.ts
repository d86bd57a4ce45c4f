import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';

interface Ended {
  readonly exitCode: number | null;
  readonly said: readonly unknown[];
  readonly log: readonly Record<string, unknown>[];
}

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function run(fault: string, signals: readonly NodeJS.Signals[]): Promise<Ended> {
  const child = spawn(process.execPath, [resolve(import.meta.dirname, 'stopping-process.ts'), fault], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const log: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) =>
    log.push(JSON.parse(line) as Record<string, unknown>),
  );
  const closed = new Promise<number | null>((done) => child.once('close', (code) => done(code)));
  for (const signal of signals) {
    await waitUntil('it is ready', () => log.some(({ msg }) => msg === 'ready'));
    child.kill(signal);
  }
  return { exitCode: await closed, log, said: log.map(({ msg }) => msg) };
}

const inOrder = ['ready', 'stopping', 'first stopped', 'second stopped', 'third stopped', 'stopped'];

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s stops the parts in their order, and the exit code is 0',
  async (signal) => {
    const { exitCode, said } = await run('', [signal]);
    expect(said).toEqual(inOrder);
    expect(exitCode).toBe(0);
  },
);

test('a part that hangs is left behind at its deadline, and the parts after it are stopped', async () => {
  const { exitCode, said, log } = await run('hang', ['SIGTERM']);
  expect(said).toEqual([
    'ready',
    'stopping',
    'first stopped',
    'did not stop in time; going on without it',
    'third stopped',
    'stopped',
  ]);
  expect(log[3]).toMatchObject({ level: 'warn', part: 'second', timeout_ms: 200 });
  expect(exitCode).toBe(0);
});

test.each([
  ['reject', 'would not'],
  ['throw', 'could not'],
])('a part that fails (%s) is in the log, and the parts after it are stopped', async (fault, message) => {
  const { exitCode, log } = await run(fault, ['SIGTERM']);
  expect(log[3]).toMatchObject({ level: 'error', part: 'second', err: { message } });
  expect(log.at(-2)).toMatchObject({ msg: 'third stopped' });
  expect(exitCode).toBe(0);
});

test.each(['uncaught', 'unhandled'])(
  'an error nobody handled (%s) stops the parts, and the exit code is 1',
  async (fault) => {
    const { exitCode, said, log } = await run(fault, []);
    expect(said).toEqual(['ready', 'stopping after an error nobody handled', ...inOrder.slice(2)]);
    expect(log[1]).toMatchObject({
      level: 'fatal',
      err: { message: expect.any(String), stack: expect.any(String) },
    });
    expect(exitCode).toBe(1);
  },
);
