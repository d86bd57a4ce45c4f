import { existsSync } from 'node:fs';
import { StartError } from '../src/main/local/start-error.ts';
import { canInstallPackages, installPackages } from './apt-get.ts';

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
  if (!canInstallPackages()) throw new StartError(howToGetOne);
  report('Installing Chromium with apt-get (once)');
  installPackages(packages);
  if (!existsSync(program)) throw new StartError(howToGetOne);
}
