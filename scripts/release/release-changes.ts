import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NewestMigrations } from './migration-rules.ts';

export interface Release {
  readonly version: string;
  /** The commit before the release, because a commit cannot contain its own hash. */
  readonly commit: string;
  /** YYYY-MM-DD, UTC. */
  readonly date: string;
  readonly migrations: NewestMigrations;
}

export interface Releases {
  /** The commit of the newest release, for processes that run beside those of this version. */
  readonly previous: string;
  readonly releases: readonly Release[];
}

/** A file that a release changes. */
export interface Change {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** Each place that names the version of Gatehouse, beside CHANGELOG.md and releases.json: a file, and the text around the version. */
export const versionPlaces: readonly (readonly [file: string, before: string, after: string])[] = [
  ['package.json', '\n  "version": "', '",'],
  ['package-lock.json', '{\n  "name": "gatehouse",\n  "version": "', '",'],
  ['package-lock.json', '\n      "name": "gatehouse",\n      "version": "', '",'],
  ['src/cli/version.ts', "gatehouseVersion = '", "';"],
  ['deploy/kubernetes/version/kustomization.yaml', 'newTag: ', '\n'],
  ['docs/operating/kubernetes.md', 'registry.example/gatehouse:', ' .'],
  ['docs/webhooks.md', 'user-agent: Gatehouse-Webhooks/', '\n'],
];

/** The text of CHANGELOG.md from a heading to the next one; undefined without that heading. */
export function changelogSection(changelog: string, heading: string): string | undefined {
  const [, rest] = changelog.split(`\n## [${heading}]`, 2);
  return rest?.replace(/^.*\n/, '').split('\n## [', 1)[0]?.trim();
}

/** All changes of a release. @throws when a place does not name the old version. */
export async function releaseChanges(
  root: string,
  oldVersion: string,
  release: Release,
): Promise<readonly Change[]> {
  const changes = new Map<string, Change>();
  const edit = async (file: string, find: string, replacement: string): Promise<void> => {
    const before = changes.get(file)?.before ?? (await readFile(join(root, file), 'utf8'));
    const text = changes.get(file)?.after ?? before;
    if (!text.includes(find))
      throw new Error(
        `${file} does not contain ${JSON.stringify(find.trim())}. Correct the file, or versionPlaces in scripts/release/release-changes.ts.`,
      );
    changes.set(file, { file, before, after: text.replace(find, () => replacement) });
  };
  for (const [file, before, after] of versionPlaces)
    await edit(file, before + oldVersion + after, before + release.version + after);
  await edit(
    'CHANGELOG.md',
    '\n## [Unreleased]\n',
    `\n## [Unreleased]\n\n## [${release.version}] - ${release.date}\n`,
  );
  const { releases } = JSON.parse(await readFile(join(root, 'releases.json'), 'utf8')) as Releases;
  const [newest] = releases;
  await edit('releases.json', `"previous": "${newest?.commit ?? ''}"`, `"previous": "${release.commit}"`);
  await edit('releases.json', '"releases": [\n', `"releases": [\n${entryOf(release)},\n`);
  return [...changes.values()];
}

/** As Oxfmt writes it. */
function entryOf({ version, commit, date, migrations: { core, webhooks } }: Release): string {
  return `    {
      "version": "${version}",
      "commit": "${commit}",
      "date": "${date}",
      "migrations": { "core": ${core}, "webhooks": ${webhooks} }
    }`;
}

/** The lines that a change removes and adds. */
export function changedLines({ file, before, after }: Change): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const only = (lines: readonly string[], others: readonly string[], sign: string) =>
    lines.filter((line) => line !== '' && !others.includes(line)).map((line) => `  ${sign} ${line}`);
  return [file, ...only(old, now, '-'), ...only(now, old, '+')].join('\n');
}
