import { describe, expect, test } from '@jest/globals';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beginLog, createLogBounds } from '../../../src/main/local/log-file.ts';
import { mountSmallDisk } from '../../../src/main/prove/small-disk.ts';
import { temporaryFolders } from './temporary-folder.ts';

describe('the log of a process', () => {
  const newFolder = temporaryFolders();

  test('of the previous run is kept beside it', async () => {
    const path = join(await newFolder(), 'core.log');
    await writeFile(path, 'yesterday\n');
    const log = await beginLog(path);
    await (await log.open()).close();
    expect(await readFile(`${path}.1`, 'utf8')).toBe('yesterday\n');
    expect(await readFile(path, 'utf8')).toBe('');
  });

  test('is read from the start of a restarted process', async () => {
    const log = await beginLog(join(await newFolder(), 'core.log'));
    const first = await log.open();
    await first.write('ready\n');
    await first.close();
    const second = await log.open();
    expect(await log.readNew()).toBe('');
    await second.write('starting\n');
    expect(await log.readNew()).toBe('starting\n');
    await second.close();
  });

  test('is read from its beginning after it became too long while the process started', async () => {
    const log = await beginLog(join(await newFolder(), 'core.log'), 10);
    const first = await log.open();
    await first.write('more than ten bytes\n');
    await first.close();
    const second = await log.open();
    await log.bound();
    await second.write('ready\n');
    expect(await log.readNew()).toBe('ready\n');
    await second.close();
  });

  test('returns its last 25 lines', async () => {
    const log = await beginLog(join(await newFolder(), 'core.log'));
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
    await writeFile(log.path, `${lines.join('\n')}\n`);
    expect(await log.tail()).toBe(lines.slice(-25).join('\n'));
  });

  test('has a full disk while no line fits', async () => {
    const folder = await newFolder();
    const disk = mountSmallDisk(folder);
    try {
      const log = await beginLog(join(folder, 'core.log'));
      await (await log.open()).close();
      expect(await log.isDiskFull()).toBe(false);
      // Only root can mount a disk.
      if ('problem' in disk) return;
      await disk.fill();
      expect(await log.isDiskFull()).toBe(true);
      disk.makeRoom();
      expect(await log.isDiskFull()).toBe(false);
    } finally {
      if (!('problem' in disk)) disk.unmount();
    }
  });

  test('starts again when it is too long, and the process continues to write', async () => {
    const log = await beginLog(join(await newFolder(), 'core.log'), 10);
    const output = await log.open();
    await output.write('more than ten bytes\n');
    await log.bound();
    await output.write('next\n');
    await output.close();
    expect(await readFile(`${log.path}.1`, 'utf8')).toBe('more than ten bytes\n');
    expect(await readFile(log.path, 'utf8')).toBe('next\n');
  });

  test('is written for the next process after its folder was deleted, which is reported once', async () => {
    const folder = await newFolder();
    const log = await beginLog(join(folder, 'core.log'));
    await (await log.open()).close();
    const lines: string[] = [];
    const bound = createLogBounds((line) => lines.push(line));

    await rm(folder, { recursive: true });
    await bound(log);
    await bound(log);
    const next = await log.open();
    await next.write('ready\n');
    await next.close();

    expect(lines).toEqual([expect.stringContaining('start Gatehouse again')]);
    expect(await log.readNew()).toBe('ready\n');
  });
});
