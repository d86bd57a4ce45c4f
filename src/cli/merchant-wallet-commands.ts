import { Argument } from 'commander';
import type { Command } from 'commander';
import type { JsonValue } from '@bufbuild/protobuf';
import {
  MerchantWalletSchema,
  WalletAccountCheckSchema,
  WalletAccountSchema,
  WalletAccountState,
  WalletAccountStateSchema,
} from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { MerchantWallet, WalletAccount } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { CliError, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { onMerchant, onMerchantAnd } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import { environmentOption, environmentWord, showEnvironment } from './options.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';

/** Reads a file as text, or the standard input for `-`. */
export type ReadInput = (file: string) => Promise<string>;

interface InEnvironment {
  readonly environment: Environment;
}

interface AddedAccount extends InEnvironment {
  readonly values: string;
  readonly account?: string;
}

type MerchantWallets = CoreClients['merchantWallets'];

const sandboxByDefault = () => environmentOption().default(Environment.SANDBOX, 'sandbox');
const walletArgument = () => new Argument('<wallet>', 'a configured wallet, such as walleta');
const accountArgument = () => new Argument('<wallet_account_id>', 'wac_…');

/** `merchant wallet …` */
export function addMerchantWalletCommands(
  merchant: Command,
  run: Runner,
  find: FindMerchant,
  readInput: ReadInput,
): void {
  const wallet = merchant
    .command('wallet')
    .description("choose a merchant's wallets, and manage its own accounts at them");

  onMerchant(
    wallet
      .command('list')
      .description('list the wallets of a merchant, whether they are on, and its own accounts')
      .addOption(sandboxByDefault()),
    find,
    (merchantId: string, { environment }: InEnvironment) =>
      run(({ merchantWallets }) => listWallets(merchantWallets, merchantId, environment)),
  );

  for (const { name, on, description, note } of switches)
    onMerchantAnd(
      wallet.command(name).description(description).addOption(sandboxByDefault()),
      walletArgument(),
      find,
      (merchantId: string, id: string, { environment }: InEnvironment) =>
        run(async ({ merchantWallets }) => {
          const request = { merchantId, environment, wallet: id, on };
          const { wallet: changed } = await merchantWallets.switchMerchantWallet(request);
          return {
            json: plainJson(MerchantWalletSchema, requireField(changed)),
            text: note(id, environment),
          };
        }),
    );

  onMerchantAnd(
    wallet
      .command('fields')
      .description("show the settings that a merchant's own account at a wallet can have")
      .addOption(sandboxByDefault()),
    walletArgument(),
    find,
    (merchantId: string, id: string, { environment }: InEnvironment) =>
      run(({ merchantWallets }) => showFields(merchantWallets, merchantId, environment, id)),
  );

  onMerchantAnd(
    wallet
      .command('add-account')
      .description("add a merchant's own account at a wallet, which payments use after it is promoted")
      .addOption(sandboxByDefault())
      .requiredOption(
        '--values <file>',
        'a JSON file with the values by field, such as {"client_id":"…"}; - reads the standard input',
      )
      .option(
        '--account <wallet_account_id>',
        'the id of an account that is missing after a restore (wac_…), from gatehouse restore status',
      ),
    walletArgument(),
    find,
    (
      merchantId: string,
      id: string,
      { environment, values: file, account: walletAccountId = '' }: AddedAccount,
    ) =>
      run(async ({ merchantWallets }) => {
        const values = readValues(file, await readInput(file));
        const request = { merchantId, environment, wallet: id, values, walletAccountId };
        const reply = await merchantWallets.addWalletAccount(request);
        const added = requireField(reply.account);
        const command = `${merchantId} ${added.walletAccountId}`;
        return describeAccount(added, [
          'The wallets process checks the credentials now. No payment uses the account yet.',
          'What to do next:',
          `1. See the result: ${listCommand(added)}`,
          `2. Use it for new payments: gatehouse merchant wallet promote ${command}`,
        ]);
      }),
  );

  for (const { name, description, ask, notes } of accountCommands)
    onMerchantAnd(
      wallet.command(name).description(description),
      accountArgument(),
      find,
      (merchantId: string, walletAccountId: string) =>
        run(async ({ merchantWallets }) => {
          const reply = await ask(merchantWallets, { merchantId, walletAccountId });
          const account = requireField(reply.account);
          return describeAccount(account, [notes(account)]);
        }),
    );

  onMerchantAnd(
    wallet.command('remove').description('remove an account with its secrets, when no payment needs it'),
    accountArgument(),
    find,
    (merchantId: string, walletAccountId: string) =>
      run(async ({ merchantWallets }) => {
        await merchantWallets.removeWalletAccount({ merchantId, walletAccountId });
        return { json: { removed: walletAccountId }, text: `The account ${walletAccountId} is removed.` };
      }),
  );
}

const switches: readonly {
  readonly name: string;
  readonly on: boolean;
  readonly description: string;
  readonly note: (wallet: string, environment: Environment) => string;
}[] = [
  {
    name: 'on',
    on: true,
    description: "let a merchant's customers pay with a wallet",
    note: (wallet, environment) =>
      `${wallet} is on in ${showEnvironment(environment)}. New payments can use it within 5 seconds.`,
  },
  {
    name: 'off',
    on: false,
    description: "refuse new payments of a merchant's customers with a wallet",
    note: (wallet, environment) =>
      `${wallet} is off in ${showEnvironment(environment)}. New payments are refused within 5 seconds.`,
  },
];

interface AccountKey {
  readonly merchantId: string;
  readonly walletAccountId: string;
}

/** The command that lists an account, with the result of its latest check. */
const listCommand = ({ merchantId, environment }: WalletAccount): string =>
  `gatehouse merchant wallet list ${merchantId} --environment ${environmentWord(environment)}`;

/** Commands for one account: the call of each, and its text on success. */
const accountCommands: readonly {
  readonly name: string;
  readonly description: string;
  readonly ask: (
    clients: MerchantWallets,
    key: AccountKey,
  ) => Promise<{ readonly account?: WalletAccount | undefined }>;
  readonly notes: (account: WalletAccount) => string;
}[] = [
  {
    name: 'check',
    description: 'test the credentials of an account again, without moving money',
    ask: (clients, key) => clients.checkWalletAccount(key),
    notes: (account) => `See the result: ${listCommand(account)}`,
  },
  {
    name: 'promote',
    description: 'use an account for new payments',
    ask: (clients, key) => clients.promoteWalletAccount(key),
    notes: () => 'New payments use it. Payments under way keep the account with which they began.',
  },
  {
    name: 'retire',
    description: "use the operator's account for new payments again",
    ask: (clients, key) => clients.retireWalletAccount(key),
    notes: () => "New payments use the operator's account. Payments under way keep this one.",
  },
];

/** @throws CliError that names no value, because it may be a secret */
function readValues(file: string, text: string): Record<string, string> {
  const refuse = (problem: string): never => {
    throw new CliError(
      exitCodes.invalidInput,
      `${file === '-' ? 'the standard input' : file} ${problem}`,
      'Write the values as {"client_id": "…", "client_secret": "…"}.',
    );
  };
  let content: JsonValue;
  try {
    content = JSON.parse(text) as JsonValue;
  } catch {
    return refuse('is not JSON');
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return refuse('must contain an object');
  const entries = Object.entries(content).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : refuse('must contain only strings as values'),
  ]);
  return Object.fromEntries(entries);
}

const showValue = ({ name, value, ending }: WalletAccount['values'][number]): string =>
  `${name} ${value !== '' ? value : ending === '' ? '(secret)' : `…${ending}`}`;

const stateOf = ({ state }: WalletAccount): string => wordOf(WalletAccountStateSchema, state) ?? '';
const checkOf = ({ check, checkDetail }: WalletAccount): string =>
  [wordOf(WalletAccountCheckSchema, check) ?? '', checkDetail].filter((text) => text !== '').join(': ');

function describeAccount(account: WalletAccount, notes: readonly string[]): Output {
  const text = (width: number): string =>
    fields(
      [
        ['Account', account.walletAccountId],
        ['Merchant', account.merchantId],
        ['Environment', showEnvironment(account.environment)],
        ['Wallet', account.wallet],
        ['Values', account.values.map(showValue).join('\n')],
        ['State', stateOf(account)],
        ['Credentials', checkOf(account)],
        ['Added', showTime(account.createTime)],
      ],
      width,
    );
  return {
    json: plainJson(WalletAccountSchema, account),
    text: (width) => `${text(width)}\n\n${notes.join('\n')}`,
  };
}

async function listWallets(
  clients: MerchantWallets,
  merchantId: string,
  environment: Environment,
): Promise<Output> {
  const { wallets } = await clients.listMerchantWallets({ merchantId, environment });
  const columns = [
    { head: 'WALLET' },
    { head: 'STATE' },
    { head: 'PAYMENT OPTIONS', wraps: true },
    { head: 'NEW PAYMENTS USE' },
  ];
  const accountColumns = [
    { head: 'ACCOUNT' },
    { head: 'WALLET' },
    { head: 'STATE' },
    { head: 'CREDENTIALS', wraps: true },
    { head: 'VALUES', wraps: true },
    { head: 'ADDED' },
  ];
  const accounts = wallets.flatMap((wallet) => wallet.accounts);
  return {
    json: { wallets: wallets.map((wallet) => plainJson(MerchantWalletSchema, wallet)) },
    text: (width) => {
      if (wallets.length === 0) return `No wallet is configured in ${showEnvironment(environment)}.`;
      const first = table(columns, wallets.map(walletRow), width);
      if (accounts.length === 0) return first;
      return `${first}\n\n${table(accountColumns, accounts.map(accountRow), width)}`;
    },
  };
}

function walletRow({ wallet, paymentOptions, on, accounts }: MerchantWallet): string[] {
  const current = accounts.find(({ state }) => state === WalletAccountState.CURRENT);
  const state = paymentOptions.length === 0 ? 'not granted' : on ? 'on' : 'off';
  return [wallet, state, paymentOptions.join('\n'), current?.walletAccountId ?? "the operator's account"];
}

const accountRow = (account: WalletAccount): string[] => [
  account.walletAccountId,
  account.wallet,
  stateOf(account),
  checkOf(account),
  account.values.map(showValue).join('\n'),
  showTime(account.createTime),
];

async function showFields(
  clients: MerchantWallets,
  merchantId: string,
  environment: Environment,
  id: string,
): Promise<Output> {
  const { wallets } = await clients.listMerchantWallets({ merchantId, environment });
  const wallet = wallets.find((each) => each.wallet === id);
  if (wallet === undefined)
    throw new CliError(
      exitCodes.notFound,
      `the wallet ${id} is not configured in ${showEnvironment(environment)}`,
      'See the wallets: gatehouse wallet list',
    );
  const columns = [{ head: 'FIELD' }, { head: 'KIND' }, { head: 'MEANING', wraps: true }];
  const rows = wallet.accountFields.map(({ name, secret, choices, description }) => [
    name,
    secret ? 'secret' : choices.length > 0 ? choices.join(' or ') : 'text',
    description,
  ]);
  const { account_fields: accountFields = [] } = plainJson(MerchantWalletSchema, wallet) as {
    account_fields?: JsonValue;
  };
  return {
    json: { wallet: id, account_fields: accountFields },
    text: (width) =>
      rows.length === 0 ? `${id} does not support accounts of merchants.` : table(columns, rows, width),
  };
}
