/** The wallet simulator: all sandbox wallets on one listener, with a page that shows their activity. */
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readWalletSimulatorSettings } from '../wallet-simulator/settings.ts';
import { stopOnSignal } from '../platform/lifecycle.ts';
import { buildWalletSimulator } from '../wallet-simulator/app.ts';
import { scaleDelays, standardDelaysMs } from '../wallet-simulator/delays.ts';
import { openFileJournal } from '../wallet-simulator/journal.ts';
import type { JournalFile } from '../wallet-simulator/journal.ts';
import { createLedger } from '../wallet-simulator/ledger.ts';
import { readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';

const tokenLifetimeSeconds = 3_600;
const callbackTimeoutMs = 5_000;

const config = readSettingsOrExit(readWalletSimulatorSettings);
const interactive = asksForPerson(process.argv.slice(2)) || config.GATEHOUSE_SIMULATOR_INTERACTIVE;
const { logger } = startLogging('wallet-simulator', config);
const simulator = await buildWalletSimulator({
  wallets: config.GATEHOUSE_SIMULATOR_CREDENTIALS.map((wallet) => ({
    ...wallet,
    ledger: createLedger(),
    journal: openJournal(wallet.id),
  })),
  interactive,
  delaysMs: scaleDelays(standardDelaysMs, config.GATEHOUSE_SIMULATOR_TIME_SCALE),
  tokenLifetimeSeconds,
  callbackTimeoutMs,
  after: (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  now: () => new Date(),
  newUuid: randomUUID,
  randomBytes,
  logger,
});

stopOnSignal(logger, [{ name: 'listener', stop: () => simulator.close(), timeoutMs: 5_000 }]);

await simulator.listen({ host: config.GATEHOUSE_HOST, port: config.GATEHOUSE_SIMULATOR_PORT });
logger.info({ origin: simulator.listeningOrigin, interactive }, 'ready');

function openJournal(wallet: string): JournalFile | undefined {
  const folder = config.GATEHOUSE_SIMULATOR_JOURNAL_DIR;
  return folder === undefined ? undefined : openFileJournal(join(folder, `${wallet}.jsonl`));
}

/** Whether --interactive was given. Any other argument ends the process. */
function asksForPerson(args: readonly string[]): boolean {
  try {
    const { values } = parseArgs({ args: [...args], options: { interactive: { type: 'boolean' } } });
    return values.interactive === true;
  } catch {
    process.stderr.write(
      'the only option is --interactive; everything else is set by GATEHOUSE_ variables\n',
    );
    process.exit(2);
  }
}
