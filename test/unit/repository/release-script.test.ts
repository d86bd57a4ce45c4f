import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import semver from 'semver';
import { gatehouseVersion } from '../../../src/cli/version.ts';
import { newestMigrations } from '../../../scripts/release/migration-rules.ts';
import { changelogSection, versionPlaces } from '../../../scripts/release/release-changes.ts';
import type { Releases } from '../../../scripts/release/release-changes.ts';
import { compileCache } from '../../support/servers.ts';
import { listFiles, root } from './repository-files.ts';

const next = semver.inc(gatehouseVersion, 'minor') ?? '';
/** More than an argument of a program may have. */
const entries = `- A new thing.${'\n- Another thing.'.repeat(9_000)}`;
const person = { NAME: 'Tester', EMAIL: 'tester@gateway.example' };
const env = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  ...compileCache(),
  ...Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((role) =>
      Object.entries(person).map(([name, value]) => [`GIT_${role}_${name}`, value]),
    ),
  ),
};

let clone: string;
const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: clone, env, encoding: 'utf8' }).trim();
const read = (file: string): string => readFileSync(join(clone, file), 'utf8');
const write = (file: string, text: string): void => writeFileSync(join(clone, file), text);
const release = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['scripts/release/main.ts', ...args], { cwd: clone, env, encoding: 'utf8' });

let main: string;
beforeAll(async () => {
  clone = join(mkdtempSync(join(tmpdir(), 'gatehouse-release-')), 'clone');
  // The clone includes changes that are not committed yet.
  for (const file of await listFiles()) cpSync(join(root, file), join(clone, file));
  git('init', '--quiet', '--initial-branch=main');
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  write('.git/info/exclude', 'node_modules\n');
  // Generating takes seconds. contract-checks.test.ts and merchant-api-checks.test.ts prove these two.
  write('tools/generated.mjs', '');
  write('scripts/generate-clients.ts', '');
  const changelog = read('CHANGELOG.md').replace(
    /## \[Unreleased\][\s\S]*?\n## \[/,
    `## [Unreleased]\n\n### Added\n\n${entries}\n\n## [`,
  );
  write('CHANGELOG.md', changelog);
  git('add', '--all');
  git('commit', '--quiet', '--message', 'test: a state to release');
  main = git('rev-parse', 'HEAD');
});
beforeEach(() => {
  git('switch', '--quiet', '--force', 'main');
  git('reset', '--quiet', '--hard', main);
  git('clean', '--quiet', '--force');
  spawnSync('git', ['tag', '--delete', `v${next}`, 'v9.9.9'], { cwd: clone, env });
});
afterAll(() => rmSync(join(clone, '..'), { recursive: true }));

test('a release moves the changelog, sets the version everywhere, commits and tags', async () => {
  const tried = release(next, '--dry-run');
  expect(tried).toMatchObject({ status: 0, stderr: '' });
  expect(tried.stdout).toContain(`+ export const gatehouseVersion = '${next}';`);
  expect([git('status', '--porcelain'), git('rev-parse', 'HEAD'), git('tag', '--list', `v${next}`)]).toEqual([
    '',
    main,
    '',
  ]);

  const { status, stdout, stderr } = release(next);

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain(`git push origin main v${next}`);
  expect(git('status', '--porcelain')).toBe('');
  expect(git('rev-parse', 'HEAD^', `v${next}^{commit}`).split('\n')).toEqual([
    main,
    git('rev-parse', 'HEAD'),
  ]);
  expect(git('for-each-ref', '--format=%(objecttype)|%(contents)', `refs/tags/v${next}`)).toBe(
    `tag|Gatehouse ${next}\n\n### Added\n\n${entries}`,
  );
  for (const [file, before, after] of versionPlaces) expect(read(file)).toContain(before + next + after);
  expect(changelogSection(read('CHANGELOG.md'), 'Unreleased')).toBe('');
  expect(changelogSection(read('CHANGELOG.md'), next)).toBe(`### Added\n\n${entries}`);
  const { previous, releases } = JSON.parse(read('releases.json')) as Releases;
  const migrations = await newestMigrations(root);
  expect(previous).toBe(main);
  expect(releases[0]).toMatchObject({ version: next, commit: main, migrations });
  expect(releases[1]?.version).toBe(gatehouseVersion);
  const oxfmt = join(root, 'node_modules/.bin/oxfmt');
  const changed = git('diff', '--name-only', 'HEAD^').split('\n');
  const check = spawnSync(oxfmt, ['--check', ...changed.filter((file) => !file.endsWith('lock.json'))], {
    cwd: clone,
    env,
    encoding: 'utf8',
  });
  expect(check).toMatchObject({ status: 0 });
});

test('a wrong version, another branch and a changed tree are refused', () => {
  git('switch', '--quiet', '--create', 'other');
  write('NOTICE.md', 'A file.\n');

  const { status, stderr } = release('9.9.9');

  expect(status).toBe(1);
  expect(stderr).toMatch(/^You are on other\. .*git switch main$/m);
  expect(stderr).toMatch(/^The working tree has changes\. .*git stash -u:\n\?\? NOTICE\.md$/m);
  expect(stderr).toContain(`9.9.9 does not follow ${gatehouseVersion}. Release `);
  expect(stderr).toContain(`${next} (additions)`);
  expect(git('rev-parse', 'HEAD')).toBe(main);
});

test('an empty [Unreleased], an existing tag and a migration that drops are refused', () => {
  write('CHANGELOG.md', read('CHANGELOG.md').replace(`### Added\n\n${entries}\n\n`, ''));
  const file = 'src/core/database/migrations/migration-999-drop.ts';
  write(file, 'export const sql = `alter table core.orders drop column reason;`;\n');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'test: nothing to release');
  git('tag', 'v9.9.9');

  const { status, stderr } = release('9.9.9');

  expect(status).toBe(1);
  expect(stderr).toMatch(/^CHANGELOG\.md has nothing under \[Unreleased\]\. Describe/m);
  expect(stderr).toContain('The tag v9.9.9 exists.');
  expect(stderr).toContain(`${file}: drops what the previous release may use`);
});

test('generated files that differ are refused', () => {
  write('tools/generated.mjs', `console.error('src/gen differs'); process.exitCode = 1;`);
  write('scripts/generate-clients.ts', `console.log(process.argv.slice(2)); process.exitCode = 1;`);
  git('commit', '--quiet', '--all', '--message', 'test: an edited file');

  const { status, stderr } = release(next);

  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^Generated files differ\. Run npm run generate, and commit the result:\nsrc\/gen differs$/m,
  );
  expect(stderr).toMatch(
    /^Generated files differ\. Run npm run clients, and commit the result:\n\[ '--check' \]$/m,
  );
});

test.each([[[]], [['0.2.0', '0.3.0']], [['0.2.0', '--dryrun']]])(
  'the arguments are explained: %j',
  (args) => {
    expect(release(...args)).toMatchObject({
      status: 2,
      stderr: 'Name the version: npm run release -- 0.2.0 [--dry-run]\n',
    });
  },
);
