import { spawnSync } from 'node:child_process';
import { ensureInstalled, pinnedNode, projectRoot, runInForeground } from './install.mjs';

await ensureInstalled({ withDevelopment: true });
const prepared = spawnSync(pinnedNode, ['scripts/prepare-tests.ts'], { cwd: projectRoot, stdio: 'inherit' });
if (prepared.status !== 0) process.exit(prepared.status ?? 1);

const jest = ['--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
runInForeground([...jest, ...process.argv.slice(2)], { ipc: false });
