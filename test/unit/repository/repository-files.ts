import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const root = join(import.meta.dirname, '..', '..', '..');

/** The files of these kinds that git tracks, or would add. */
export async function listFiles(...patterns: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns],
    { cwd: root },
  );
  return stdout.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
}
