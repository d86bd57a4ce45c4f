import { ensureInstalled, runInForeground } from './install.mjs';

await ensureInstalled({ withDevelopment: false });
runInForeground(
  [
    // After the start this process does little, so an early garbage collection keeps it small.
    '--max-semi-space-size=1',
    '--import',
    './src/main/local/stop-with-parent.ts',
    'src/main/all.ts',
  ],
  { ipc: true },
);
