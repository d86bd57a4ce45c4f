/** Runs all of Gatehouse on this machine until a signal: PostgreSQL, NATS, core and the other processes. */
import { join, resolve } from 'node:path';
import { SettingsError } from '../platform/settings/read-settings.ts';
import { readLocalSettings } from './local/settings.ts';
import { StartError } from './local/start-error.ts';
import { startGatehouse } from './local/start-gatehouse.ts';
import { describeRunning, exampleCurrency } from './local/summary.ts';
import { reportedSettings } from './unknown-settings.ts';

const projectRoot = resolve(import.meta.dirname, '../..');

/** A signal requested the stop. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('interrupted');
    this.exitCode = exitCode;
  }
}

// Otherwise, after `umask 000`, every user of the machine could change the bundled programs, which run as this user.
process.umask(process.umask(0o077) | 0o022);

const interrupt = new AbortController();
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
  ['SIGHUP', 1],
] as const) {
  process.on(signal, () => interrupt.abort(new Interrupted(128 + number)));
}
// By default it opens Node's debugger, where every user of the machine can run code within this process.
process.on('SIGUSR1', () => console.error('! SIGUSR1 has no effect'));
// The terminal or the pipe behind stdout may close. The processes are still stopped in order.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

async function runGatehouse(signal: AbortSignal): Promise<void> {
  if (process.platform !== 'linux')
    throw new StartError(
      'npm start runs on Linux. On other systems use Docker: see docs/operating/running.md',
    );
  const config = readLocalSettings(process.env);
  const dataFolder = resolve(projectRoot, config.GATEHOUSE_DATA_DIR);
  console.log(`Starting Gatehouse in ${dataFolder}`);
  for (const sentence of reportedSettings(process.env)) console.error(`! ${sentence}`);
  const currency = exampleCurrency(process.env);
  const gatehouse = await startGatehouse({
    config,
    environment: process.env,
    projectRoot,
    dataFolder,
    report: (line) => console.log(`  ${line}`),
    warn: (line) => console.error(`! ${line}`),
    signal,
  });
  const { demo, isRecovering, stop } = gatehouse;
  console.log(
    describeRunning({
      demo,
      dataFolder,
      commandFolder: join(projectRoot, 'node_modules', '.bin'),
      seconds: performance.now() / 1000,
      currency,
      now: new Date(),
      isRecovering,
    }),
  );
  await new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', resolve);
  });
  console.log('\nStopping');
  await stop();
  console.log(`Stopped. The data are kept in ${dataFolder}`);
}

try {
  await runGatehouse(interrupt.signal);
  process.exit(0);
} catch (error) {
  if (error instanceof Interrupted) {
    console.error('Interrupted during the start. All started processes are stopped');
    process.exit(error.exitCode);
  }
  const isExplained = error instanceof StartError || error instanceof SettingsError;
  console.error('\nGatehouse did not start.\n');
  console.error(isExplained ? error.message : error);
  process.exit(1);
}
