import { describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dataFolderMarker, endLeftovers } from '../../../src/main/local/leftovers.ts';
import { temporaryFolders } from './temporary-folder.ts';

const keepRunning = `console.log('started'); setInterval(() => undefined, 1000);`;

describe('a process that an earlier start left running', () => {
  const newFolder = temporaryFolders();

  async function startFor(folder: string, script = keepRunning): Promise<ChildProcess> {
    const child = spawn(process.execPath, ['-e', script], {
      env: { [dataFolderMarker]: folder },
      stdio: 'pipe',
    });
    await once(child.stdout, 'data');
    return child;
  }

  async function end(dataFolder: string, deadlineMs = 10_000, postgresData?: string): Promise<string[]> {
    const reports: string[] = [];
    const report = (line: string) => reports.push(line);
    await endLeftovers({ dataFolder, postgresData, report, deadlineMs });
    return reports;
  }

  test('gets a signal, and exits', async () => {
    const folder = await newFolder();
    const child = await startFor(folder);
    const exited = once(child, 'exit');
    const reports = await end(folder);
    expect(await exited).toEqual([null, 'SIGTERM']);
    expect(reports).toEqual([`Stopping processes that an earlier start left running: node ${child.pid}`]);
  });

  test('is killed when it does not exit', async () => {
    const folder = await newFolder();
    const child = await startFor(folder, `process.on('SIGTERM', () => undefined); ${keepRunning}`);
    const exited = once(child, 'exit');
    await end(folder, 50);
    expect(await exited).toEqual([null, 'SIGKILL']);
  });

  test('is distinguished from the processes of another data folder', async () => {
    const other = await startFor(await newFolder());
    expect(await end(await newFolder())).toEqual([]);
    expect(other.exitCode ?? other.signalCode).toBeNull();
    other.kill('SIGKILL');
    await once(other, 'exit');
  });

  test('is distinguished from other processes in the folder of the database', async () => {
    const database = await newFolder();
    const visitor = spawn(process.execPath, ['-e', keepRunning], { cwd: database, env: {}, stdio: 'pipe' });
    await once(visitor.stdout, 'data');
    expect(await end(await newFolder(), 10_000, database)).toEqual([]);
    expect(visitor.exitCode ?? visitor.signalCode).toBeNull();
    visitor.kill('SIGKILL');
    await once(visitor, 'exit');
  });
});
