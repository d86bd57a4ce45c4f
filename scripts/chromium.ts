import { existsSync } from 'node:fs';
import { StartError } from '../src/main/local/start-error.ts';
import { canInstallPackages, installPackages } from './apt-get.mjs';

/**
 * Debian's two packages of Chromium, the better one first: without its own window and toolbars, Chromium opens a page in
 * a third of the time.
 */
const programs = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** Chromium, and Debian's smallest font with Amharic letters, because tests also take pictures of Amharic pages. */
const packages = ['chromium-headless-shell', 'fonts-sil-abyssinica'];

const howToGetOne = [
  `The tests of the pages need Chromium, and there is neither ${programs.join(' nor ')}. As root:`,
  `  apt-get install --no-install-recommends ${packages.join(' ')}`,
].join('\n');

/** The path of the installed Chromium, if there is one. */
export const findChromium = (): string | undefined => programs.find((program) => existsSync(program));

/**
 * Ensures that Chromium is installed; as root on Debian, installs it. @throws StartError that says how to install it
 */
export function findOrInstallChromium(report: (line: string) => void): void {
  if (findChromium() !== undefined) return;
  if (!canInstallPackages()) throw new StartError(howToGetOne);
  report('Installing Chromium with apt-get (once)');
  installPackages(packages);
  if (findChromium() === undefined) throw new StartError(howToGetOne);
}
