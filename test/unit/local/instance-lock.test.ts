import { describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { lockFolder } from '../../../src/main/local/instance-lock.ts';
import { temporaryFolders } from './temporary-folder.ts';

const module = new URL('../../../src/main/local/instance-lock.ts', import.meta.url).href;
const holdLock = `
  const { lockFolder } = await import(${JSON.stringify(module)});
  await lockFolder(process.argv[1]);
  console.log('held');
  setInterval(() => undefined, 1000);`;

describe('the lock of a data folder', () => {
  const newFolder = temporaryFolders();

  test('it can be taken again once it is released', async () => {
    const folder = await newFolder();
    for (let round = 1; round <= 2; round++) {
      const lock = await lockFolder(folder);
      if (!('release' in lock)) throw new Error(`round ${round}: held by ${lock.pid}`);
      await lock.release();
    }
  });

  test('it is released although a peer keeps its connection', async () => {
    const folder = await newFolder();
    const lock = await lockFolder(folder);
    if (!('release' in lock)) throw new Error('the lock is held');
    const { dev, ino } = await stat(folder);
    const peer = connect({ path: `\0gatehouse-${dev}-${ino}`, allowHalfOpen: true });
    expect(String(await once(peer, 'data'))).toBe(String(process.pid));

    await lock.release();

    peer.destroy();
  });

  test('it is free as soon as its killed holder has exited', async () => {
    const folder = await newFolder();
    const holder = spawn(process.execPath, ['--input-type=module', '-e', holdLock, folder], {
      stdio: 'pipe',
    });
    await once(holder.stdout, 'data');
    const whileHeld = await lockFolder(folder);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(whileHeld).toEqual({ pid: holder.pid });
    const lock = await lockFolder(folder);
    expect(lock).toHaveProperty('release');
    if ('release' in lock) await lock.release();
  });

  test('two folders have separate locks', async () => {
    const locks = await Promise.all([lockFolder(await newFolder()), lockFolder(await newFolder())]);
    for (const lock of locks) {
      expect(lock).toHaveProperty('release');
      if ('release' in lock) await lock.release();
    }
  });
});
