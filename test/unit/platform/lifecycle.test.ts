import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
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
  for (const [index, signal] of signals.entries()) {
    await waitUntil('it is ready, or has noticed the signal before', () => log.length > index);
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

test('a second signal ends the process at once, with a line that says so and exit code 1', async () => {
  const { exitCode, said, log } = await run('hang for long', ['SIGTERM', 'SIGINT']);
  expect(said.slice(0, 2)).toEqual(['ready', 'stopping']);
  expect(log.at(-1)).toMatchObject({
    level: 'warn',
    signal: 'SIGINT',
    msg: expect.stringContaining('second signal'),
  });
  expect(said).not.toContain('third stopped');
  expect(exitCode).toBe(1);
});

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGHUP', 129],
] as const)('%s ends a process of id 1 that still starts, with exit code %i', async (signal, code) => {
  const { exitCode, said } = await run('has the id 1 and starts', [signal]);
  expect(said).toEqual(['ready', 'stopped during the start']);
  expect(exitCode).toBe(code);
});

test('a process of id 1 that has started stops in order', async () => {
  const { exitCode, said } = await run('has the id 1', ['SIGTERM']);
  expect(said).toEqual(inOrder);
  expect(exitCode).toBe(0);
});

test('SIGUSR1 neither stops the process nor opens its debugger', async () => {
  const { exitCode, said, log } = await run('', ['SIGUSR1', 'SIGTERM']);
  expect(log[1]).toMatchObject({ level: 'warn', msg: expect.stringContaining('no debugger opens') });
  expect(said.slice(2)).toEqual(inOrder.slice(1));
  expect(log.at(-2)).toMatchObject({ msg: 'third stopped', debugger: 'closed' });
  expect(exitCode).toBe(0);
});

test('a part that hangs is abandoned at its deadline, and the parts after it are stopped', async () => {
  const { exitCode, said, log } = await run('hang', ['SIGTERM']);
  expect(said).toEqual([
    'ready',
    'stopping',
    'first stopped',
    'a part of the process did not stop in time; the shutdown continues without it',
    'third stopped',
    'stopped',
  ]);
  expect(log[3]).toMatchObject({ level: 'warn', part: 'second', timeout_ms: 200 });
  expect(exitCode).toBe(0);
});

test('a process whose parts may need longer than a stop may take does not start', async () => {
  const { exitCode, log } = await run('has no time', []);
  expect(log).toMatchObject([
    { level: 'fatal', err: { message: 'the parts may need 9501 ms to stop, and the process has 9500 ms' } },
  ]);
  expect(exitCode).toBe(1);
});

test.each([
  ['reject', 'would not'],
  ['throw', 'could not'],
])('a part that fails (%s) is logged, and the parts after it are stopped', async (fault, message) => {
  const { exitCode, log } = await run(fault, ['SIGTERM']);
  expect(log[3]).toMatchObject({ level: 'error', part: 'second', err: { message } });
  expect(log.at(-2)).toMatchObject({ msg: 'third stopped' });
  expect(exitCode).toBe(0);
});

test.each(['uncaught', 'unhandled'])(
  'an error that nothing handled (%s) stops the parts, and the exit code is 1',
  async (fault) => {
    const { exitCode, said, log } = await run(fault, []);
    expect(said).toEqual(['ready', 'unhandled error: the process exits', ...inOrder.slice(1)]);
    expect(log[1]).toMatchObject({
      level: 'fatal',
      err: { message: expect.any(String), stack: expect.any(String) },
    });
    expect(exitCode).toBe(1);
  },
);

describe('a process whose log is not read still stops', () => {
  const start = (output: 'pipe' | number): ChildProcess => {
    const child = spawn(
      process.execPath,
      [resolve(import.meta.dirname, 'stopping-process.ts'), 'talkative'],
      { stdio: ['ignore', output, 'pipe'] },
    );
    children.push(child);
    return child;
  };
  const stopped = async (child: ChildProcess): Promise<number | null> => {
    const exited = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
    child.kill('SIGTERM');
    return exited;
  };
  const hasSaidAll = (child: ChildProcess): Promise<unknown> =>
    new Promise((done) => child.stderr?.once('data', done));

  test.each(['stays and does not read', 'goes away'])('with a socket whose reader %s', async (reader) => {
    const child = start('pipe');
    await hasSaidAll(child);
    if (reader === 'goes away') child.stdout?.destroy();
    expect(await stopped(child)).toBe(0);
  });

  test.each(['stays and does not read', 'goes away'])('with a pipe whose reader %s', async (reader) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pipe-'));
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writeEnd = openSync(path, constants.O_WRONLY);
    try {
      const child = start(writeEnd);
      closeSync(writeEnd);
      await hasSaidAll(child);
      if (reader === 'goes away') closeSync(readEnd);
      expect(await stopped(child)).toBe(0);
    } finally {
      if (reader !== 'goes away') closeSync(readEnd);
      rmSync(folder, { recursive: true });
    }
  });
});
