import { afterEach } from '@jest/globals';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Gives tests new folders, which are gone after each test. */
export function temporaryFolders(): () => Promise<string> {
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0))
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  return async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'gatehouse-test-')));
    folders.push(folder);
    return folder;
  };
}
