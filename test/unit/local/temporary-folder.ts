import { afterEach } from '@jest/globals';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Gives tests new folders whose paths begin with `prefix`, and removes them after each test. */
export function temporaryFolders(prefix = join(tmpdir(), 'gatehouse-test-')): () => Promise<string> {
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0))
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  return async () => {
    const folder = await realpath(await mkdtemp(prefix));
    folders.push(folder);
    return folder;
  };
}
