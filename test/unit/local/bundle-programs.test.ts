import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { bundledProgram, findPrograms, programs } from '../../../src/main/local/bundle-programs.ts';
import { ownProgram } from '../../support/gatehouse-process.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

const cleanUps = closersOfEachTest();
const root = resolve(import.meta.dirname, '../../..');

test('a stack trace of a bundled program names the lines of its sources', async () => {
  const args = ownProgram('migrate');
  expect(args.at(-1)).toMatch(/\/migrate\.mjs$/);
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { GATEHOUSE_DATABASE_URL: 'postgres://nobody:none@127.0.0.1:1/none' },
  });
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => (log += String(chunk)));

  const { err } = await waitUntil('it logs that the database does not answer', () =>
    log.includes('\n') ? (JSON.parse(log.split('\n')[0] ?? '') as { err: { stack: string } }) : undefined,
  );

  child.kill('SIGKILL');
  await once(child, 'exit');
  const [, file = '', line] = /(\S*migrate-when-reachable\.ts):(\d+):/.exec(err.stack) ?? [];
  const lines = (await readFile(file.replace(/^\(?file:\/\//, '').replace(/^\(/, ''), 'utf8')).split('\n');
  expect(lines[Number(line) - 1]).toContain('database.migrate(');
});

async function newProject(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'gatehouse-project-'));
  cleanUps.push(() => rm(project, { recursive: true }));
  return project;
}

test('without bundled programs, such as in a folder whose sources cannot be bundled, the reason is given', async () => {
  const project = await newProject();
  const reasons: string[] = [];
  const find = (environment = {}) =>
    findPrograms(environment, project, join(project, 'own'), (reason) => void reasons.push(reason));

  expect(await find()).toBeUndefined();
  expect(reasons).toEqual([expect.stringContaining('Could not resolve')]);

  expect(await find({ GATEHOUSE_PROGRAMS: '/app/programs' })).toBe('/app/programs');
  expect(reasons).toHaveLength(1);
});

test('programs are bundled again only when a source has changed', async () => {
  const project = await newProject();
  const own = join(project, 'own');
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(project, file)), { recursive: true });
    await writeFile(join(project, file), text);
    const writtenAtMs = Date.now();
    // A source that changes while it is bundled counts as changed.
    await waitUntil('the clock has advanced', () => Date.now() > writtenAtMs + 5);
  };
  const find = async (): Promise<string> => {
    expect(await findPrograms({}, project, own, (reason) => expect(reason).toBeUndefined())).toBe(own);
    return readFile(bundledProgram(own, 'core'), 'utf8');
  };
  await write('package-lock.json', '{}');
  for (const name of programs) await write(`src/main/${name}.ts`, `console.log('${name} 1');`);

  expect(await find()).toContain('core 1');
  await writeFile(bundledProgram(own, 'core'), 'kept');
  expect(await find()).toBe('kept');

  await write('src/main/core.ts', "import './part.ts';");
  await write('src/main/part.ts', "console.log('core 2');");
  expect(await find()).toContain('core 2');
  await write('src/main/part.ts', "console.log('core 3');");
  expect(await find()).toContain('core 3');
  await writeFile(bundledProgram(own, 'core'), 'kept');
  await write('package-lock.json', '{ "packages": {} }');
  expect(await find()).toContain('core 3');
  await writeFile(bundledProgram(own, 'core'), 'kept');
  await rm(join(project, 'src/main/part.ts'));
  await write('src/main/core.ts', "console.log('core 4');");
  expect(await find()).toContain('core 4');
});
