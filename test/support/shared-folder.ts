import { mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** A new folder for all tests of a file or a `describe`, which is removed after them. */
export function sharedFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-test-')));
  afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return folder;
}
