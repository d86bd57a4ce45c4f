// Runs on the user's Node (20 or newer) before any package is installed, so it uses Node's own modules only.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

export const canInstallPackages = () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

export function installPackages(packages) {
  const aptGet = (...args) => {
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
