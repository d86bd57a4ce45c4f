import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runLocal } from './run-local.mjs';

/**
 * The newest release (tag v*) that HEAD descends from, or else the commit that releases.json names, because that is the version in use.
 * Undefined when the clone has neither.
 */
export async function newestRelease() {
  const { code, output } = await runLocal(['git', 'describe', '--tags', '--abbrev=0', '--match', 'v*']);
  if (code === 0) return output.trim();
  const file = join(ROOT, 'releases.json');
  if (!existsSync(file)) return undefined;
  const { previous } = JSON.parse(await readFile(file, 'utf8'));
  const found = await runLocal(['git', 'cat-file', '-e', `${previous}^{commit}`]);
  return found.code === 0 ? previous : undefined;
}
