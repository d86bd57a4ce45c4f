import { afterEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { beginLog } from '../../../src/main/local/log-file.ts';
import { supervise } from '../../../src/main/local/supervisor.ts';
import type {
  ProcessSpec,
  SupervisedProcess,
  SupervisorOptions,
} from '../../../src/main/local/supervisor.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { isRunning } from './processes.ts';
import { temporaryFolders } from './temporary-folder.ts';

const keepRunning = 'setInterval(() => undefined, 1000);';

describe('a supervised process', () => {
  const newFolder = temporaryFolders();
  const supervised: SupervisedProcess[] = [];
  const warnings: string[] = [];
  afterEach(async () => {
    for (const one of supervised.splice(0)) await one.stop();
    warnings.splice(0);
  });

  function node(script: string, more: Partial<ProcessSpec> = {}): ProcessSpec {
    return {
      ...{ name: 'core', address: '127.0.0.1:1', command: process.execPath, args: ['-e', script], cwd: '/' },
      env: {},
      isReady: async ({ log }) => (await log()).includes('ready'),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 5_000,
      ...more,
    };
  }

  async function start(
    spec: ProcessSpec,
    signal = new AbortController().signal,
    more: Partial<SupervisorOptions> = {},
  ): Promise<SupervisedProcess> {
    const log = await beginLog(join(await newFolder(), 'core.log'));
    const one = await supervise(spec, { log, signal, warn: (line) => warnings.push(line), ...more });
    supervised.push(one);
    return one;
  }

  test('runs after it reports ready, and has exited after it is stopped', async () => {
    const one = await start(node(`console.log('ready');${keepRunning}`));
    const pid = one.pid() ?? 0;
    expect(await isRunning(pid)).toBe(true);
    await one.stop();
    expect(await isRunning(pid)).toBe(false);
    expect(warnings).toEqual([]);
  });

  test('that is not ready in time fails the start, and is ended', async () => {
    let started = 0;
    const slow = node(keepRunning, {
      isReady: async ({ pid }) => {
        started = pid;
        return false;
      },
      readyTimeoutMs: 100,
    });

    await expect(start(slow)).rejects.toThrow(/core was not ready within 0.1 s/);
    expect(await isRunning(started)).toBe(false);
  });

  test('that takes long to start is named once, and may take its time', async () => {
    let polls = 0;
    const slow = node(keepRunning, { isReady: async () => (polls += 1) > 20 });

    await start(slow, undefined, { longStartMs: 0 });

    expect(warnings).toEqual([expect.stringMatching(/^core is still starting\. Its log: .*core\.log$/)]);
  });

  test('that cannot report that it is ready, because the disk of its log is full, is left running until it can', async () => {
    const log = await beginLog(join(await newFolder(), 'core.log'));
    let isDiskFull = true;
    const spec = node(keepRunning, { isReady: () => Promise.resolve(!isDiskFull), readyTimeoutMs: 0 });
    const starting = supervise(spec, {
      log: { ...log, isDiskFull: () => Promise.resolve(isDiskFull) },
      signal: new AbortController().signal,
      warn(line) {
        warnings.push(line);
        isDiskFull = false;
      },
      longStartMs: 0,
    });

    supervised.push(await starting);

    expect(warnings).toEqual([expect.stringMatching(/the disk of its log is full\. Free space on it\./)]);
  });

  test('has the time that its recovery needs, although the clock is set forward', async () => {
    const { now } = Date;
    let polls = 0;
    const recovering = node(keepRunning, {
      isReady: async () => {
        polls += 1;
        if (polls === 1) Date.now = () => now() + 24 * 60 * 60_000;
        return polls > 3;
      },
    });

    await start(recovering).finally(() => (Date.now = now));

    expect(polls).toBe(4);
  });

  test('that exits before it is ready fails the start with the end of its log', async () => {
    const starting = start(node(`console.error('GATEHOUSE_X must be a port'); process.exitCode = 3;`));
    await expect(starting).rejects.toThrow(/core did not start \(exit code 3\).*GATEHOUSE_X must be a port/s);
  });

  test('that exits without a word fails the start, and its empty log is not quoted', async () => {
    const starting = start(node('process.exitCode = 3;'));
    await expect(starting).rejects.toThrow(
      /^core did not start \(exit code 3\)\. It has written nothing to its log, .*core\.log$/,
    );
  });

  test('whose program is missing fails the start', async () => {
    await expect(start(node('', { command: '/nowhere/core' }))).rejects.toThrow(
      /core did not start .*ENOENT/s,
    );
  });

  test('is restarted at once after an exit, with a message', async () => {
    const one = await start(node(`console.log('ready');${keepRunning}`));
    const first = one.pid() ?? 0;
    process.kill(first, 'SIGKILL');
    await waitUntil('it is running again', () => warnings.includes('core is running again'));
    expect(one.pid()).not.toBe(first);
    expect(warnings[0]).toMatch(
      /^core ended \(killed by SIGKILL\); starting it again at once\. If nobody killed it, .* too little memory: see dmesg\. Its log: .*core\.log$/,
    );
  });

  test('is restarted with growing delays after repeated exits, until it is stopped', async () => {
    let starts = 0;
    const prepare = async () => {
      if (++starts > 1) throw new Error('no space left on device');
    };
    const one = await start(node(`console.log('ready');${keepRunning}`, { prepare }));
    process.kill(one.pid() ?? 0, 'SIGKILL');
    await waitUntil('it has been tried three times', () => warnings.length === 3);
    await one.stop();
    const waits = warnings.map((line) => /again (at once|in [0-9.]+ s)/.exec(line)?.[1]);
    expect(waits).toEqual(['at once', 'in 0.5 s', 'in 1 s']);
    expect(warnings[1]).toBe('core is down; starting it again in 0.5 s. no space left on device');
  });

  test('is killed and restarted after three health checks without an answer, although it ignores SIGTERM', async () => {
    const answers = [false, false, true, false, false, false];
    const stubborn = `process.on('SIGTERM', () => undefined); console.log('ready');${keepRunning}`;
    const isResponsive = async () => answers.shift() ?? true;
    const one = await start(node(stubborn, { isResponsive, stopTimeoutMs: 100 }), undefined, {
      askEveryMs: 1,
    });
    const first = one.pid() ?? 0;
    await waitUntil('it is running again', () => warnings.includes('core is running again'));
    expect(answers).toEqual([]);
    expect(one.pid()).not.toBe(first);
    expect(warnings[0]).toMatch(/^core runs but no longer answers; ending it\. Its log: .*core\.log$/);
    expect(warnings[1]).toMatch(/^core ended \(killed by SIGKILL\); starting it again at once\. Its log: /);
  });

  test('that ignores its signal is killed at the deadline, with a warning', async () => {
    const stubborn = `process.on('SIGTERM', () => undefined); console.log('ready');${keepRunning}`;
    const one = await start(node(stubborn, { stopTimeoutMs: 100 }));
    const pid = one.pid() ?? 0;
    await one.stop();
    expect(await isRunning(pid)).toBe(false);
    expect(warnings).toEqual([
      'core did not stop within 0.1 s, so it is killed. Nothing acknowledged is lost',
    ]);
  });

  test('leaves nothing running after an interrupt during its start', async () => {
    const interrupt = new AbortController();
    const pids: number[] = [];
    const isReady: ProcessSpec['isReady'] = async ({ pid }) => {
      pids.push(pid);
      interrupt.abort(new Error('Ctrl-C'));
      return false;
    };
    await expect(start(node(keepRunning, { isReady }), interrupt.signal)).rejects.toThrow('Ctrl-C');
    expect(await isRunning(pids[0] ?? 0)).toBe(false);
  });

  test('leaves nothing running after a stop while it becomes ready again', async () => {
    const pids: number[] = [];
    let stopped: Promise<void> | undefined;
    const isReady: ProcessSpec['isReady'] = async ({ pid }) => {
      if (pids.push(pid) > 1) stopped = supervised[0]?.stop();
      return true;
    };
    const one = await start(node(keepRunning, { isReady }));
    process.kill(one.pid() ?? 0, 'SIGKILL');
    await waitUntil('it was stopped', () => stopped !== undefined);
    await stopped;
    expect(pids).toHaveLength(2);
    expect(await isRunning(pids[1] ?? 0)).toBe(false);
  });

  test('with an IPC channel exits when its parent is killed', async () => {
    const preload = new URL('../../../src/main/local/stop-with-parent.ts', import.meta.url).href;
    const args = ['--import', preload, '-e', `console.log(process.pid);${keepRunning}`];
    const parent = spawn(process.execPath, [
      '-e',
      `require('node:child_process').spawn(process.execPath, ${JSON.stringify(args)}, { stdio: ['ignore', 1, 2, 'ipc'] })`,
    ]);
    const pid = await new Promise<number>((resolve) => {
      parent.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString())));
    });
    parent.kill('SIGKILL');
    await waitUntil('the child is gone', async () => !(await isRunning(pid)));
  });
});
