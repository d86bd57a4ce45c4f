import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { SettingsError } from '../platform/settings/read-settings.ts';
import { CliError, exitCodes } from './cli-error.ts';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { WalletSchema } from '../gen/gatehouse/v1/wallet_service_pb.js';
import type { Wallet, WalletCurrency } from '../gen/gatehouse/v1/wallet_service_pb.js';
import { ReportedWalletStatusSchema } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import { environmentFilter, showEnvironment } from './options.ts';
import type { Output, Runner } from './output.ts';
import { plainJson } from './plain-json.ts';
import { table } from './table.ts';
import { healthText, walletStatusTable } from './wallet-status-table.ts';

interface StatusOptions {
  readonly environment?: Environment;
}

/** The result of a check of one wallet in one environment. */
export interface CheckedWallet {
  readonly wallet: string;
  readonly environment: string;
  readonly health: string;
  readonly credentials: 'accepted' | 'refused' | 'unknown';
  /** Whether payments that payers start are taken: `payer_started` is configured. */
  readonly payer_started: 'taken' | 'not configured' | 'not offered';
  readonly detail: string;
}

/** The result of a registration of URLs with one wallet in one environment. */
export interface RegisteredUrls {
  readonly wallet: string;
  readonly environment: string;
  readonly result: 'registered' | 'already_registered' | 'refused' | 'no_answer' | 'not_configured';
  readonly detail: string;
  /** Their end is secret. */
  readonly validation_url: string;
  readonly confirmation_url: string;
}

/** The commands that use the file of wallets, without core. */
export interface WalletTools {
  /** The JSON Schema of the file. */
  readonly schema: () => Readonly<Record<string, unknown>>;
  /** Tests the credentials in GATEHOUSE_WALLETS_FILE, of one wallet or of all. @throws SettingsError */
  readonly check: (only: string | undefined) => Promise<readonly CheckedWallet[]>;
  /** Registers our URLs for payments that payers start. @throws SettingsError */
  readonly registerUrls: (wallet: string) => Promise<readonly RegisteredUrls[]>;
}

/** `wallet …` */
export function addWalletCommands(
  program: Command,
  run: Runner,
  tools: WalletTools,
  print: (output: Output) => void,
): void {
  const wallet = program
    .command('wallet')
    .description('show the configured wallets and their health, and test their credentials');
  wallet
    .command('list')
    .description('show the configured wallets with their payment options, currencies and limits')
    .action(() => run(({ wallets }) => listWallets(wallets)));
  wallet
    .command('check')
    .description('test the credentials in GATEHOUSE_WALLETS_FILE with the providers, without moving money')
    .argument('[wallet]', 'only this wallet')
    .action(async (only?: string) => print(checkOutput(await onWallets(() => tools.check(only), only))));
  wallet
    .command('register-urls')
    .description("register the URLs for payer-started payments with the wallet's provider")
    .argument('<wallet>', 'a wallet of GATEHOUSE_WALLETS_FILE with payer_started')
    .action(async (only: string) =>
      print(registerOutput(await onWallets(() => tools.registerUrls(only), only))),
    );
  wallet
    .command('schema')
    .description('print the JSON Schema of GATEHOUSE_WALLETS_FILE')
    .action(() => {
      const schema = tools.schema() as JsonObject;
      print({ json: schema, text: JSON.stringify(schema, undefined, 2) });
    });
  wallet
    .command('status')
    .description('show the health of each wallet, as the wallets processes last reported it')
    .addOption(environmentFilter())
    .action((options: StatusOptions) => run(({ walletStatuses }) => listStatuses(walletStatuses, options)));
}

async function listWallets(clients: CoreClients['wallets']): Promise<Output> {
  const { wallets } = await clients.listWallets({});
  const columns = [
    { head: 'WALLET' },
    { head: 'NAME' },
    { head: 'CONNECTOR' },
    { head: 'OPTIONS', wraps: true },
    { head: 'CURRENCIES' },
    { head: 'ENVIRONMENTS' },
    { head: 'PHONES' },
  ];
  return {
    json: { wallets: wallets.map((wallet) => plainJson(WalletSchema, wallet)) },
    text: (width) => table(columns, wallets.map(walletRow), width),
  };
}

/** The results for the chosen wallets, of which there is at least one. */
async function onWallets<Result>(
  work: () => Promise<readonly Result[]>,
  only: string | undefined,
): Promise<readonly Result[]> {
  try {
    const results = await work();
    if (results.length > 0) return results;
  } catch (error) {
    if (error instanceof SettingsError)
      throw new CliError(
        exitCodes.invalidInput,
        error.message,
        'Correct it, and run this command with the environment of a wallets process.',
      );
    throw error;
  }
  const which = only === undefined ? 'no wallet' : `no wallet "${only}"`;
  throw new CliError(
    exitCodes.notFound,
    `GATEHOUSE_WALLETS_FILE configures ${which}`,
    'To see the wallets of core: gatehouse wallet list',
  );
}

function checkOutput(checked: readonly CheckedWallet[]): Output {
  const areAccepted = checked.every(({ credentials }) => credentials === 'accepted');
  const columns = [
    { head: 'WALLET' },
    { head: 'ENVIRONMENT' },
    { head: 'CREDENTIALS' },
    { head: 'HEALTH' },
    { head: 'PAYER-STARTED' },
    { head: 'DETAIL', wraps: true },
  ];
  const rows = checked.map(({ wallet, environment, credentials, health, detail, ...each }) => [
    wallet,
    environment.toUpperCase(),
    credentials,
    healthText(health),
    each.payer_started,
    detail,
  ]);
  return {
    json: { wallets: checked.map((each) => ({ ...each })) },
    text: (width) => table(columns, rows, width),
    exitCode: areAccepted ? exitCodes.ok : exitCodes.refused,
  };
}

function registerOutput(registered: readonly RegisteredUrls[]): Output {
  const results = registered.map(({ result }) => result);
  const exitCode = results.includes('refused')
    ? exitCodes.refused
    : results.includes('no_answer')
      ? exitCodes.unreachable
      : results.every((result) => result === 'not_configured')
        ? exitCodes.invalidInput
        : exitCodes.ok;
  const parts = registered.map((each) =>
    each.validation_url === ''
      ? `${each.wallet} ${each.environment.toUpperCase()}: ${each.detail}`
      : [
          `${each.wallet} ${each.environment.toUpperCase()}: ${each.detail}`,
          `  validation    ${each.validation_url}`,
          `  confirmation  ${each.confirmation_url}`,
        ].join('\n'),
  );
  const hint = registered.some(({ validation_url: url }) => url !== '')
    ? '\n\nThe URLs contain secrets. Give them only to the provider.'
    : '';
  return {
    json: { wallets: registered.map((each) => ({ ...each })) },
    text: `${parts.join('\n')}${hint}`,
    exitCode,
  };
}

const walletRow = (wallet: Wallet): string[] => [
  wallet.wallet,
  wallet.englishName,
  wallet.connector,
  wallet.paymentOptions.join('\n'),
  wallet.currencies.map(rangeText).join('\n'),
  wallet.environments.map(showEnvironment).join('\n'),
  wallet.phonePrefixes.join(', '),
];

/** Such as "ETB 1.00 to 75000.00" or "KES from 10, whole units". */
function rangeText({
  currency,
  leastAmount: least,
  greatestAmount: greatest,
  decimals,
}: WalletCurrency): string {
  const range =
    least !== '' && greatest !== ''
      ? ` ${least} to ${greatest}`
      : least !== ''
        ? ` from ${least}`
        : greatest !== ''
          ? ` up to ${greatest}`
          : '';
  return `${currency}${range}${decimals === 0 ? ', whole units' : ''}`;
}

async function listStatuses(
  walletStatuses: CoreClients['walletStatuses'],
  { environment = Environment.UNSPECIFIED }: StatusOptions,
): Promise<Output> {
  const { statuses } = await walletStatuses.listWalletStatuses({ environment });
  return {
    json: { statuses: statuses.map((each) => plainJson(ReportedWalletStatusSchema, each)) },
    text: (width) => walletStatusTable(statuses, width),
  };
}
