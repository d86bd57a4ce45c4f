import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';

const start = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/start.mjs', ...args], { encoding: 'utf8', timeout: 10_000 });

test('npm start -- --help says where the settings are documented, and starts nothing', () => {
  const { status, stdout } = start('--help');

  expect(status).toBe(0);
  expect(stdout).toContain('docs/operating/running.md lists them');
});

test('npm start refuses an argument, because it has none', () => {
  const { status, stdout, stderr } = start('--port', '8080');

  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain('error: npm start has no option or argument --port\n');
});
