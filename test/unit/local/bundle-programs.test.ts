import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { findPrograms } from '../../../src/main/local/bundle-programs.ts';
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

test('without bundled programs, such as in a folder whose sources cannot be bundled, the reason is given', async () => {
  const project = await mkdtemp(join(tmpdir(), 'gatehouse-project-'));
  cleanUps.push(() => rm(project, { recursive: true }));
  const reasons: string[] = [];
  const find = (environment = {}) =>
    findPrograms(environment, project, join(project, 'own'), (reason) => void reasons.push(reason));

  expect(await find()).toBeUndefined();
  expect(reasons).toEqual([expect.stringContaining('Could not resolve')]);

  expect(await find({ GATEHOUSE_PROGRAMS: '/app/programs' })).toBe('/app/programs');
  expect(reasons).toHaveLength(1);
});
