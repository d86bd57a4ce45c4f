import { ensureInstalled, runInForeground } from './install.mjs';

const usage = `Usage: npm start

Installs Gatehouse, and runs it until Ctrl-C. It has no options. Settings are environment variables:

  GATEHOUSE_DATA_DIR=/srv/gatehouse npm start

docs/operating/running.md lists them.`;

const [argument] = process.argv.slice(2);
if (argument === '--help' || argument === '-h') {
  console.log(usage);
  process.exit(0);
}
if (argument !== undefined) {
  console.error(`error: npm start has no option or argument ${argument}\n\n${usage}`);
  process.exit(2);
}

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
