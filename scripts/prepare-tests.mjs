// Installs all that the tests need.
import { spawnSync } from 'node:child_process';
import { installClientLibraries } from './client-libraries.mjs';
import { ensureInstalled, pinnedNode, projectRoot } from './install.mjs';

// The packages first wait for the network, then use one processor.
const clientLibraries = installClientLibraries((line) => console.log(line));
await ensureInstalled({ withDevelopment: true });
for (const failure of await clientLibraries) console.log(failure);
const programs = spawnSync(pinnedNode, ['scripts/install-test-programs.ts'], {
  cwd: projectRoot,
  stdio: 'inherit',
});
if (programs.status !== 0) process.exit(programs.status ?? 1);
