import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { StartError } from '../src/main/local/start-error.ts';

/** The path of Debian's package, where the tests expect Chromium. */
const program = '/usr/bin/chromium';

/** Chromium, and Debian's smallest font with Amharic letters, because tests also take pictures of Amharic pages. */
const packages = ['chromium', 'fonts-sil-abyssinica'];

const howToGetOne = [
  'The tests of the checkout pages need Chromium, and there is none at /usr/bin/chromium. As root:',
  `  apt-get install --no-install-recommends ${packages.join(' ')}`,
].join('\n');

/**
 * Ensures that Chromium is installed; as root on Debian, installs it. @throws StartError that says how to install it
 */
export function findOrInstallChromium(report: (line: string) => void): void {
  if (existsSync(program)) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new StartError(howToGetOne);
  report('Installing Chromium with apt-get (once)');
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
  if (!existsSync(program)) throw new StartError(howToGetOne);
}
