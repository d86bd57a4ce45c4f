import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const newFolder = temporaryFolders();

const run = (program: string, args: readonly string[], cwd: string, path: string) =>
  new Promise<{ exitCode: number | string; stdout: string; stderr: string }>((done) =>
    execFile(program, args, { cwd, env: { PATH: path } }, (error, stdout, stderr) =>
      done({ exitCode: error?.code ?? 0, stdout, stderr }),
    ),
  );

test('the command that package.json names runs from any folder, by a link, on the pinned Node', async () => {
  const folder = await newFolder();
  const { bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    bin: { gatehouse: string };
  };
  // The links of npm link and node_modules/.bin, behind a Node that the command must not use.
  await symlink(join(root, bin.gatehouse), join(folder, 'gatehouse'));
  await writeFile(join(folder, 'node'), '#!/bin/sh\necho the wrong Node >&2\nexit 99\n');
  await chmod(join(folder, 'node'), 0o755);

  const path = `${folder}:${process.env['PATH'] ?? ''}`;
  const { exitCode, stdout, stderr } = await run('gatehouse', ['key', '--help'], folder, path);

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: gatehouse key /);
});

test('the image has the command on the PATH, and the command runs on the Node of the image', async () => {
  const image = await newFolder();
  const dockerfile = await readFile(join(root, 'Dockerfile'), 'utf8');
  const [, link = ''] = / ln -s \/app\/(\S+) \/usr\/local\/bin\/gatehouse(?: \\)?$/m.exec(dockerfile) ?? [];
  const copied = [...dockerfile.matchAll(/^COPY (.*) \S+$/gm)].flatMap(([, files = '']) => files.split(' '));
  expect(copied).toContain(link);
  expect(await readFile(join(root, '.dockerignore'), 'utf8')).toContain(`\n!${link}\n`);

  // The image's files that the command needs, and a Node that reports its arguments.
  await mkdir(join(image, 'scripts'));
  await mkdir(join(image, 'node_modules/commander'), { recursive: true });
  await mkdir(join(image, 'bin'));
  await writeFile(join(image, link), await readFile(join(root, link)));
  await chmod(join(image, link), 0o755);
  await symlink(join(image, link), join(image, 'bin/gatehouse'));
  await writeFile(join(image, 'bin/node'), '#!/bin/sh\necho "$@"\n');
  await chmod(join(image, 'bin/node'), 0o755);

  const { stdout } = await run('gatehouse', ['merchant', 'list'], '/', `${join(image, 'bin')}:/usr/bin:/bin`);

  expect(stdout).toBe(`--disable-warning=DEP0123 ${join(image, 'src/main/cli.ts')} merchant list\n`);
});

test('without its packages, the command says how to install them', async () => {
  const folder = await newFolder();
  await mkdir(join(folder, 'scripts'));
  await writeFile(join(folder, 'scripts/gatehouse'), await readFile(join(root, 'scripts/gatehouse')));

  const { exitCode, stderr } = await run('sh', [join(folder, 'scripts/gatehouse')], '/', '/usr/bin:/bin');

  expect(exitCode).toBe(1);
  expect(stderr).toContain(`npm --prefix ${folder} ci`);
});

test.each([[[]], [['--json']]])(
  'an output that cannot be written is an error in one line: %j',
  async (options) => {
    const full = ['-c', '"$0" "$@" >/dev/full', join(root, 'scripts/gatehouse'), ...options];

    const { exitCode, stderr } = await run(
      'sh',
      [...full, 'wallet', 'schema'],
      root,
      process.env['PATH'] ?? '',
    );

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^(error: |\{"error":.*)the output could not be written \(ENOSPC\)/);
    expect(stderr.trim().split('\n')).toHaveLength(options.length > 0 ? 1 : 2);
  },
);
