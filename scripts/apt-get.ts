import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Whether this process may install Debian packages. */
export const canInstallPackages = (): boolean => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

/** Installs Debian packages. Errors are printed, and the caller checks whether the program is there now. */
export function installPackages(packages: readonly string[]): void {
  const aptGet = (...args: readonly string[]): void => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=60', ...args], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  };
  // A fresh machine has no package lists, or outdated ones.
  aptGet('update');
  aptGet('install', '--yes', '--no-install-recommends', ...packages);
}
