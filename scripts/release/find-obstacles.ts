import { spawnSync } from 'node:child_process';
import semver from 'semver';
import { findMigrationProblems } from './migration-rules.ts';
import type { NewestMigrations } from './migration-rules.ts';
import { changelogSection } from './release-changes.ts';

export interface WantedRelease {
  readonly root: string;
  readonly version: string;
  readonly oldVersion: string;
  readonly changelog: string;
  /** The migrations of the newest release. */
  readonly released: NewestMigrations;
  readonly git: (...args: readonly string[]) => string;
}

/** Why a version cannot be released: a sentence for each reason, with what to do. */
export async function findObstacles(wanted: WantedRelease): Promise<readonly string[]> {
  const { root, version, oldVersion, changelog, released, git } = wanted;
  const found: string[] = [];
  const branch = git('rev-parse', '--abbrev-ref', 'HEAD');
  if (branch !== 'main') found.push(`You are on ${branch}. Releases are made from main: git switch main`);
  const changed = git('status', '--porcelain');
  if (changed !== '')
    found.push(`The working tree has changes. Commit them, or put them aside with git stash -u:\n${changed}`);
  const [patch, minor, major] = (['patch', 'minor', 'major'] as const).map((step) =>
    semver.inc(oldVersion, step),
  );
  if (![patch, minor, major].includes(version))
    found.push(
      `${version} does not follow ${oldVersion}. Release ${patch} (repairs), ${minor} (additions) or ${major} (removals).`,
    );
  if (git('tag', '--list', `v${version}`) !== '')
    found.push(
      `The tag v${version} exists. Release the version after it, or delete the tag if it was never pushed.`,
    );
  if (!changelogSection(changelog, 'Unreleased'))
    found.push(
      'CHANGELOG.md has nothing under [Unreleased]. Describe what changed for operators and merchants there.',
    );
  const migrations = await findMigrationProblems(root, released);
  if (migrations.length > 0)
    found.push(
      `Migrations after ${oldVersion} would break its processes. Change them as docs/operating/upgrades.md says:\n${migrations.join('\n')}`,
    );
  // Generating takes seconds, so it is left for a release without other obstacles.
  return found.length > 0 ? found : findGeneratedDifferences(root);
}

function findGeneratedDifferences(root: string): readonly string[] {
  const checks = [
    ['npm run generate', 'tools/generated.mjs'],
    ['npm run clients', 'scripts/generate-clients.ts', '--check'],
  ] as const;
  return checks.flatMap(([repair, ...command]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8' });
    return status === 0
      ? []
      : [`Generated files differ. Run ${repair}, and commit the result:\n${(stdout + stderr).trim()}`];
  });
}
