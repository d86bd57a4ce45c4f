// Runs on the user's Node (20 or newer) before any package is installed, so it uses Node's own modules only.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

export const canInstallPackages = () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

const runAptGet = (...args) =>
  new Promise((resolve) => {
    const child = spawn('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=60', ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', resolve);
    child.on('close', resolve);
  });

async function install(packages) {
  // A fresh machine has no package lists, or outdated ones.
  await runAptGet('update');
  await runAptGet('install', '--yes', '--no-install-recommends', ...packages);
}

let previous = Promise.resolve();

export function installPackages(packages) {
  // One after another, because `apt-get update` does not wait for the lock of another.
  previous = previous.then(() => install(packages));
  return previous;
}
