/**
 * Makes three payments or three refunds at the Gatehouse that `npm start` runs here, and prints what happens at each hop. The
 * payments are of the demo wallets, or of one wallet.
 */
import { basename, resolve } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { createClient } from '@connectrpc/connect';
import { readCliSettings } from '../cli/settings.ts';
import { createGrpcTransport } from '../contract/grpc-transport.ts';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { WalletService } from '../gen/gatehouse/v1/wallet_service_pb.js';
import { DemoStopped } from './demo/demo-stopped.ts';
import { demoWalletIds, journeys, journeysWith, refundJourneys } from './demo/journeys.ts';
import type { Journey } from './demo/journeys.ts';
import { openObserver } from './demo/observer.ts';
import { playJourney } from './demo/play-journey.ts';
import { findRunning } from './demo/running-gatehouse.ts';
import { openSandboxShop } from './demo/sandbox-shop.ts';
import { openWebhookReceiver } from './demo/webhook-receiver.ts';
import { readSettingsOrExit } from './read-settings.ts';

const projectRoot = resolve(import.meta.dirname, '../..');
const style = {
  strong: (text: string): string => styleText('bold', text, { stream: process.stdout }),
  faint: (text: string): string => styleText('dim', text, { stream: process.stdout }),
};
const print = (line: string): void => void process.stdout.write(`${line}\n`);

// The reader of the output may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

async function playDemo(): Promise<void> {
  const { GATEHOUSE_DATA_DIR } = readSettingsOrExit(readCliSettings);
  const dataFolder = resolve(projectRoot, GATEHOUSE_DATA_DIR);
  const running = await findRunning(dataFolder);
  const { demo } = running;
  const transport = createGrpcTransport({ addresses: [demo.grpc], token: demo.tokens.reader });
  const now = (): Date => new Date();
  const receiver = await openWebhookReceiver(demo.merchant.test_webhook_secret, now);
  const parts = {
    receiver,
    shop: openSandboxShop(demo.rest.sandbox, demo.merchant.test_key, now),
    observer: openObserver(transport, demo.merchant.id, demo.simulator),
    now,
    print,
    style,
  };
  try {
    const played = chooseJourneys(process.argv.slice(2));
    const what = played === refundJourneys ? 'Three payments and their refunds' : 'Three payments';
    print(style.strong(`${what} in the sandbox: no real money, everything else is real.`));
    print(style.faint(`Watch the payers' phones meanwhile: ${demo.simulator}`));
    for (const [index, journey] of played.entries()) {
      print(`\n${style.strong(`${index + 1}. ${journey.title}`)}`);
      await playJourney(journey, parts);
    }
    print(`\n${style.strong('See more')}`);
    print(style.faint(`  export PATH="${resolve(projectRoot, 'node_modules/.bin')}:$PATH"`));
    // The command line finds the usual folder by itself.
    if (basename(dataFolder) !== '.gatehouse')
      print(style.faint(`  export GATEHOUSE_DATA_DIR=${dataFolder}`));
    print(`  gatehouse payment list ${demo.merchant.id} --environment sandbox`);
    if (played === refundJourneys) print(`  gatehouse refund list --merchant ${demo.merchant.id}`);
    print(`  gatehouse webhook deliveries ${demo.merchant.id} --environment sandbox`);
    print('  gatehouse payment strays');
    const { wallets } = await createClient(WalletService, transport).listWallets({});
    const reconciled = wallets.find(
      ({ paymentOptions, reconciledEnvironments }) =>
        reconciledEnvironments.includes(Environment.SANDBOX) &&
        played.some(({ payers }) => payers.some(({ option }) => paymentOptions.includes(option))),
    );
    if (reconciled !== undefined)
      print(
        `  gatehouse reconcile --wallet ${reconciled.wallet} --environment sandbox --day ${now().toISOString().slice(0, 10)}`,
      );
  } finally {
    transport.close();
    await receiver.close();
  }
}

/** The journeys of `--wallet <id>` or of `--refund`, or those of the two demo wallets. @throws DemoStopped */
function chooseJourneys(args: readonly string[]): readonly Journey[] {
  const usage = `Use: npm run demo, npm run demo -- --refund, or npm run demo -- --wallet <one of ${demoWalletIds.join(', ')}>`;
  try {
    const options = { wallet: { type: 'string' }, refund: { type: 'boolean' } } as const;
    const { wallet, refund = false } = parseArgs({ args: [...args], options }).values;
    if (refund && wallet === undefined) return refundJourneys;
    const chosen = refund ? undefined : wallet === undefined ? journeys : journeysWith(wallet);
    if (chosen !== undefined) return chosen;
  } catch {
    // The usage says what is wrong with any other argument.
  }
  throw new DemoStopped(usage);
}

try {
  await playDemo();
} catch (error) {
  if (!(error instanceof DemoStopped)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
