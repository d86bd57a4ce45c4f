/**
 * Releases a version of Gatehouse: npm run release -- 0.2.0
 * Changes the files that name the version, commits them and tags the commit. With --dry-run it only prints that. It never pushes.
 */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findObstacles } from './find-obstacles.ts';
import { newestMigrations } from './migration-rules.ts';
import { changedLines, changelogSection, releaseChanges } from './release-changes.ts';
import type { Releases } from './release-changes.ts';

const root = join(import.meta.dirname, '../..');
const usage = 'Name the version: npm run release -- 0.2.0 [--dry-run]';

function readArguments(): { readonly version: string; readonly dryRun: boolean } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { 'dry-run': { type: 'boolean', default: false } },
    });
    const [version, ...others] = positionals;
    if (version !== undefined && others.length === 0) return { version, dryRun: values['dry-run'] };
  } catch {
    // An unknown option.
  }
  console.error(usage);
  process.exit(2);
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8');

const { version, dryRun } = readArguments();
const { version: oldVersion } = JSON.parse(await read('package.json')) as { readonly version: string };
const changelog = await read('CHANGELOG.md');
const { releases } = JSON.parse(await read('releases.json')) as Releases;
const released = releases[0]?.migrations ?? { core: 0, webhooks: 0 };
const obstacles = await findObstacles({ root, version, oldVersion, changelog, released, git });
if (obstacles.length > 0) {
  console.error(obstacles.join('\n'));
  process.exit(1);
}

const changes = await releaseChanges(root, oldVersion, {
  version,
  commit: git('rev-parse', 'HEAD'),
  date: new Date().toISOString().slice(0, 10),
  migrations: await newestMigrations(root),
});
const files = changes.map(({ file }) => file);
const subject = `chore: release ${version}`;
const tag = `v${version}`;
const tagText = `Gatehouse ${version}\n\n${changelogSection(changelog, 'Unreleased') ?? ''}\n`;

if (dryRun) {
  console.log(changes.map(changedLines).join('\n'));
  console.log(`\nThe commit would be "${subject}", and its tag ${tag}:\n\n${tagText}`);
} else {
  try {
    for (const { file, after } of changes) await writeFile(join(root, file), after);
    git('commit', '--quiet', '--message', subject, '--', ...files);
  } catch (error) {
    // The working tree was clean, so nothing else is lost.
    git('restore', '--staged', '--worktree', '--', ...files);
    throw error;
  }
  // Lines of the changelog that begin with # are no comments. An argument of a program has 128 KiB at most.
  const fromInput = ['tag', '--annotate', '--cleanup=whitespace', '--file=-', tag];
  execFileSync('git', fromInput, { cwd: root, input: tagText });
  console.log(`Released ${version} with the tag ${tag}. Push both: git push origin main ${tag}`);
}
