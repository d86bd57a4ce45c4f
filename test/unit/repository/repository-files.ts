import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const root = join(import.meta.dirname, '..', '..', '..');

const run = promisify(execFile);

/**
 * The files of these kinds that git does not ignore. An empty repository beside the folder lists them, so the folder may be a downloaded
 * archive, or belong to another user.
 */
export async function listFiles(...patterns: readonly string[]): Promise<readonly string[]> {
  const repository = await mkdtemp(join(tmpdir(), 'gatehouse-files-'));
  try {
    await run('git', ['init', '--quiet', '--bare', repository]);
    const { stdout } = await run(
      'git',
      [
        `--git-dir=${repository}`,
        `--work-tree=${root}`,
        'ls-files',
        '--others',
        '--exclude-standard',
        '--',
        ...patterns,
      ],
      { cwd: root, maxBuffer: 8 * 1024 ** 2 },
    );
    return stdout.split('\n').filter((file) => file !== '');
  } finally {
    await rm(repository, { recursive: true });
  }
}
