// Runs on the user's Node (20 or newer) before any package is installed, so it uses Node's own modules only.
import { existsSync } from 'node:fs';
import { canInstallPackages, installPackages } from './apt-get.mjs';

/** Debian's two packages of Chromium. The better one is first: without its own window and toolbars, Chromium opens a page in a third of the time. */
const programs = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** Chromium, and Debian's smallest font with Amharic letters, because tests also take pictures of Amharic pages. */
const packages = ['chromium-headless-shell', 'fonts-sil-abyssinica'];

export const findChromium = () => programs.find((program) => existsSync(program));

export async function findOrInstallChromium(report) {
  if (findChromium() !== undefined) return undefined;
  if (canInstallPackages()) {
    report('Installing Chromium with apt-get (once)');
    await installPackages(packages);
  }
  if (findChromium() !== undefined) return undefined;
  return [
    `The tests of the pages need Chromium, and there is neither ${programs.join(' nor ')}. As root:`,
    `  apt-get install --no-install-recommends ${packages.join(' ')}`,
  ].join('\n');
}
