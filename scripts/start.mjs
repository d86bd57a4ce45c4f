import { ensureInstalled, runInForeground } from './install.mjs';

await ensureInstalled({ withDevelopment: false });
runInForeground(
  [
    // It does little once everything runs: collecting garbage early keeps it small.
    '--max-semi-space-size=1',
    '--import',
    './src/main/local/stop-with-parent.ts',
    'src/main/all.ts',
  ],
  { ipc: true },
);
