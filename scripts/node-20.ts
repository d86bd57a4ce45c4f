import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The oldest Node that the TypeScript client promises. Its tests run there too. */
const version = '20.20.2';
const folder = fileURLToPath(new URL('../node_modules/.cache/node-20', import.meta.url));

function isNode20(program: string): boolean {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return status === 0 && stdout.startsWith('v20.');
}

/** A Node 20: that of the machine, or the one that `npm test` has installed; undefined without any. */
export function findNode20(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((each) => each !== '');
  const programs = [...folders, join(folder, 'node_modules/node/bin')].map((each) => join(each, 'node'));
  return programs.find(isNode20);
}

/** Installs Node 20 where the machine has none. A failure is reported, and the test that needs it is skipped. */
export function installNode20(report: (line: string) => void): void {
  if (findNode20() !== undefined) return;
  report('Installing Node 20 for the tests of the TypeScript client (once)');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', `node@${version}`];
  const { stdout, stderr, error } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (findNode20() !== undefined) return;
  const output = (error?.message ?? `${stdout}${stderr}`).trim().split('\n').slice(-5).join('\n');
  report(`Node 20 could not be installed, so the test that needs it is skipped:\n${output}`);
}
