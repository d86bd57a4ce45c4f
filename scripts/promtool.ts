import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { canInstallPackages } from './apt-get.mjs';

/** Prometheus' own checker. The package would also start a server, so only its files are taken. */
const folder = join(import.meta.dirname, '..', 'node_modules', '.cache', 'prometheus');
const unpacked = join(folder, 'usr', 'bin', 'promtool');

const runs = (program: string): boolean =>
  spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

/** The program, if this machine has it. */
export const findPromtool = (): string | undefined =>
  ['promtool', unpacked].find(
    (program) => (program === unpacked ? existsSync(program) : true) && runs(program),
  );

/** Fetches promtool, as root on Debian. Without it the checks of alerts are skipped, each with its name. */
export function installPromtool(report: (line: string) => void): void {
  if (findPromtool() !== undefined) return;
  if (canInstallPackages()) {
    report('Fetching promtool with apt-get (once)');
    mkdirSync(folder, { recursive: true });
    spawnSync('apt-get', ['-qq', 'update'], { stdio: 'ignore' });
    // apt's own user may not write into the folder, so apt reads the package as root.
    spawnSync('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', 'prometheus'], {
      cwd: folder,
      stdio: 'ignore',
    });
    const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
    if (file !== undefined) spawnSync('dpkg-deb', ['--extract', file, '.'], { cwd: folder, stdio: 'ignore' });
  }
  if (findPromtool() === undefined)
    report(
      'The checks of alerts by promtool are skipped: it is not installed. Debian has it in the package prometheus.',
    );
}
