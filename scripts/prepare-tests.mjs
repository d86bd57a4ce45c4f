// Installs all that the tests need.
import { spawnSync } from 'node:child_process';
import { findOrInstallChromium } from './chromium.mjs';
import { installClientLibraries } from './client-libraries.mjs';
import { ensureInstalled, pinnedNode, projectRoot } from './install.mjs';
import { installPhp } from './php.mjs';

const report = (line) => console.log(line);

// Each of these waits for the network and the disk, and then uses one processor.
const chromium = findOrInstallChromium(report);
const php = installPhp(report);
const clientLibraries = installClientLibraries(report);
await ensureInstalled({ withDevelopment: true });
for (const failure of await clientLibraries) report(failure);
await php;
const missing = await chromium;
if (missing !== undefined) {
  console.error(missing);
  process.exit(1);
}
const programs = spawnSync(pinnedNode, ['scripts/install-test-programs.ts'], {
  cwd: projectRoot,
  stdio: 'inherit',
});
if (programs.status !== 0) process.exit(programs.status ?? 1);
