import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** The commit of the release before this version: releases.json. */
const previousRelease = (
  JSON.parse(readFileSync(join(root, 'releases.json'), 'utf8')) as { previous: string }
).previous;

/** Why the previous release cannot be checked out here; undefined when it can. */
export function whyNoPreviousRelease(): string | undefined {
  const found = spawnSync('git', ['cat-file', '-e', `${previousRelease}^{commit}`], {
    cwd: root,
    encoding: 'utf8',
  });
  if (found.error !== undefined) return 'git is not installed';
  return found.status === 0 ? undefined : `this clone does not have commit ${previousRelease}`;
}

export interface CheckedOut {
  readonly folder: string;
  readonly remove: () => void;
}

/**
 * Writes the sources of the previous release into a new folder. They run with the packages of this version. Packages that this version
 * has no more are installed beside them.
 */
export function checkOutPreviousRelease(): CheckedOut {
  const outer = mkdtempSync(join(tmpdir(), 'gatehouse-previous-'));
  const folder = join(outer, 'sources');
  mkdirSync(folder);
  const archive = join(outer, 'sources.tar');
  execFileSync('git', ['archive', '--output', archive, previousRelease, 'src', 'package.json'], {
    cwd: root,
  });
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const dropped = droppedPackages(join(folder, 'package.json'));
  // Node also searches the folders above.
  if (dropped.length > 0)
    execFileSync(
      'npm',
      ['install', '--prefix', outer, '--no-audit', '--no-fund', '--ignore-scripts', ...dropped],
      { cwd: root, stdio: 'pipe' },
    );
  return { folder, remove: () => rmSync(outer, { recursive: true }) };
}

function droppedPackages(packageFile: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(packageFile, 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  return Object.entries(dependencies)
    .filter(([name]) => !existsSync(join(root, 'node_modules', name)))
    .map(([name, version]) => `${name}@${version}`);
}
