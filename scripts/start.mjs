import { ensureInstalled, runInForeground } from './install.mjs';

await ensureInstalled({ withDevelopment: false });
runInForeground(['--import', './src/main/local/stop-with-parent.ts', 'src/main/all.ts'], { ipc: true });
