import { Command, CommanderError } from 'commander';
import type { CliSettings } from './settings.ts';
import { addAuditCommands } from './audit-commands.ts';
import { addBackupCommands, addRestoreCommand } from './backup-commands.ts';
import type { BackupTools } from './backup-commands.ts';
import { addCertifyCommand } from './certify-command.ts';
import { CliError, exitCodeHelp, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { addDoctorCommand } from './doctor-command.ts';
import { describeFailure, failureJson, failureText } from './failure.ts';
import { addKeyCommands } from './key-commands.ts';
import { addListenCommand } from './listen-command.ts';
import { findOnlyMerchant, unknownMerchant } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import { addMerchantCommands } from './merchant-commands.ts';
import { readAddresses } from './options.ts';
import { addOrderCommands } from './order-commands.ts';
import { jsonLine } from './output.ts';
import type { Output, Runner } from './output.ts';
import { addPaymentCommands } from './payment-commands.ts';
import { addPersonalDataCommands } from './personal-data-commands.ts';
import { addProveCommands } from './prove-command.ts';
import type { ProveTools } from './prove-command.ts';
import { addReconcileCommands } from './reconcile-commands.ts';
import { addRecoveryCommands } from './recovery-commands.ts';
import { addRefundCommands } from './refund-commands.ts';
import { addRehearseCommand } from './rehearse-command.ts';
import type { BeginRehearsal } from './rehearse-command.ts';
import type { Server } from './rpc-failure.ts';
import { addSettlementCommands } from './settlement-commands.ts';
import { dashboardOf, findTarget, findWebhooks, tokenOf } from './target.ts';
import type { Servers, Target } from './target.ts';
import { defaultWidth } from './table.ts';
import type { WebhookClients } from './webhook-clients.ts';
import { addUserCommands } from './user-commands.ts';
import { addWalletCommands } from './wallet-commands.ts';
import type { WalletTools } from './wallet-commands.ts';
import { addWebhookCommands } from './webhook-commands.ts';
import { gatehouseVersion } from './version.ts';

/** The environment of the program. */
export interface Surroundings {
  /** @throws SettingsError */
  readonly readConfig: () => CliSettings;
  readonly openCore: (addresses: readonly string[], token: string) => CoreClients;
  readonly openWebhooks: (addresses: readonly string[], token: string) => WebhookClients;
  readonly walletTools: WalletTools;
  readonly backupTools: BackupTools;
  readonly proveTools: ProveTools;
  readonly beginRehearsal: BeginRehearsal;
  /** Reads a file as text, or the standard input for `-`. */
  readonly readInput: (file: string) => Promise<string>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** The columns of the terminal; undefined when the output does not go to a terminal. */
  readonly width?: number | undefined;
  readonly now: () => Date;
  /** Aborts at Ctrl-C. After the first call of this function, Ctrl-C alone does not end the process. */
  readonly interruption: () => AbortSignal;
  /** In the form of `process.version`. */
  readonly nodeVersion: string;
}

interface GlobalOptions {
  readonly address?: readonly string[];
  readonly json?: true;
  readonly verbose?: true;
}

/** The width of help texts. It is fixed, so that documentation can quote them. */
const helpWidth = 100;

const settingsHelp = `Addresses of core:
  --address, otherwise GATEHOUSE_CORE_ADDRESSES, both with the token in GATEHOUSE_SERVICE_TOKEN;
  otherwise the core that npm start runs on this machine, from .gatehouse/demo.json.
Addresses of webhooks:
  GATEHOUSE_WEBHOOKS_ADDRESSES; otherwise the process that npm start runs with that core.
URL of the dashboard, for one-time links:
  GATEHOUSE_DASHBOARD_BASE_URL; otherwise the dashboard that npm start runs with that core.`;

/** Runs one command. Resolves with its exit code, one of `exitCodes`, and never rejects. */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { stdout, stderr } = surroundings;
  const json = args.includes('--json');
  const program = createProgram({ writeOut: stdout, writeErr: json ? () => undefined : stderr });
  let exitCode: number = exitCodes.ok;
  let server: Server = 'core';
  let addresses: readonly string[] = [];

  const target = async (): Promise<Target> => {
    const found = await findTarget(program.opts<GlobalOptions>().address, surroundings.readConfig());
    addresses = found.addresses;
    return found;
  };
  const findWebhookServers = async (): Promise<Servers> => {
    server = 'webhooks process';
    const found = await findWebhooks(program.opts<GlobalOptions>().address, surroundings.readConfig());
    addresses = found.addresses;
    return found;
  };
  const print = (output: Output): void =>
    stdout(
      program.opts<GlobalOptions>().json
        ? jsonLine(output.json)
        : `${typeof output.text === 'string' ? output.text : output.text(surroundings.width ?? defaultWidth)}\n`,
    );
  const runner =
    <Clients extends { readonly close: () => void }>(open: () => Promise<Clients>): Runner<Clients> =>
    async (use) => {
      const clients = await open();
      try {
        const output = await use(clients);
        print(output);
        exitCode = output.exitCode ?? exitCodes.ok;
      } finally {
        clients.close();
      }
    };
  const run = runner(async () => {
    const found = await target();
    return surroundings.openCore(found.addresses, tokenOf(found));
  });
  const runWebhooks = runner(async () => {
    const found = await findWebhookServers();
    return surroundings.openWebhooks(found.addresses, tokenOf(found, server));
  });
  const webhooksBeside = async (): Promise<WebhookClients | undefined> => {
    const { webhooks } = await target();
    if (webhooks?.token === undefined) return undefined;
    return surroundings.openWebhooks(webhooks.addresses, webhooks.token);
  };
  const findMerchant: FindMerchant = async (named, howToName) => {
    if (named !== undefined) return named;
    const before = { server, addresses };
    server = 'core';
    const found = await target().catch((error: unknown): never => {
      throw error instanceof CliError ? unknownMerchant(howToName, error) : error;
    });
    const core = surroundings.openCore(found.addresses, tokenOf(found));
    try {
      const merchantId = await findOnlyMerchant(core.merchants, howToName);
      ({ server, addresses } = before);
      return merchantId;
    } finally {
      core.close();
    }
  };
  const readInput = async (file: string): Promise<string> => {
    try {
      return await surroundings.readInput(file);
    } catch (error) {
      const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
      throw new CliError(exitCodes.invalidInput, `${file} cannot be read (${why})`, 'Name a readable file.');
    }
  };
  const report = (line: string): void => (json ? undefined : stderr(`${line}\n`));
  addMerchantCommands(program, run, findMerchant, readInput);
  addKeyCommands(program, run, findMerchant, surroundings.now);
  addOrderCommands(program, { run, findMerchant, openWebhooks: webhooksBeside });
  addPaymentCommands(program, run, findMerchant);
  addRefundCommands(program, { run, findMerchant, now: surroundings.now, report });
  addSettlementCommands(program, run, findMerchant);
  addWalletCommands(program, run, surroundings.walletTools, (output) => {
    print(output);
    exitCode = output.exitCode ?? exitCodes.ok;
  });
  const backupParts = {
    tools: surroundings.backupTools,
    report,
    nowMs: () => surroundings.now().getTime(),
    databaseUrl: () => surroundings.readConfig().GATEHOUSE_DATABASE_URL,
    finish: print,
  };
  addBackupCommands(program, backupParts);
  const restore = program
    .command('restore')
    .description('restore a backup, and follow the recovery of a restored gateway')
    .addHelpText('after', '\nOptions of a restore: gatehouse restore run --help');
  addRestoreCommand(restore, backupParts);
  addRecoveryCommands(restore, run);
  addReconcileCommands(program, { run, now: surroundings.now, report });
  addWebhookCommands(program, { ...surroundings, run: runWebhooks, report, findMerchant });
  addListenCommand(program, {
    ...surroundings,
    findWebhooks: findWebhookServers,
    findMerchant,
    report,
    isJson: json,
  });
  addCertifyCommand(program, {
    ...surroundings,
    run,
    isJson: json,
    readInput,
    report,
    finish: (output) => {
      print(output);
      exitCode = output.exitCode ?? exitCodes.ok;
    },
  });
  addProveCommands(program, {
    ...surroundings,
    tools: surroundings.proveTools,
    readInput,
    report,
    finish: (output) => {
      print(output);
      exitCode = output.exitCode ?? exitCodes.ok;
    },
  });
  addUserCommands(program, run, findMerchant, async () => dashboardOf(await target()));
  addAuditCommands(program, run, readInput);
  addPersonalDataCommands(program, run);
  addRehearseCommand(program, { run, begin: surroundings.beginRehearsal, report });
  const hasTls = (): boolean => surroundings.readConfig().GATEHOUSE_TLS_CA_FILE !== undefined;
  addDoctorCommand(program, { ...surroundings, findTarget: target, hasTls }, (output, code) => {
    print(output);
    exitCode = code;
  });

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    const isHelp = error instanceof CommanderError && error.code === 'commander.help';
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
    const failure = describeFailure(error, { addresses, server });
    const stack = args.includes('--verbose') && error instanceof Error ? error.stack : undefined;
    if (json) stderr(failureJson(failure, stack));
    // The help of an incomplete command is already printed.
    else if (!isHelp) stderr(failureText(failure, stack, server));
    return failure.exitCode;
  }
}

/** A line of a command list, with the arguments as in the usage of the command itself. */
function subcommandTerm(command: Command): string {
  const names = [command.name(), ...command.aliases().slice(0, 1)].join('|');
  const usage = command.commands.length === 0 ? command.usage() : '';
  const withOptions = command.options.length === 0 ? usage.replace('[options]', '') : usage;
  return `${names} ${withOptions}`.replace(/\s+/g, ' ').trim();
}

/** The program without its commands. Commander's own errors are thrown, not printed. */
function createProgram(output: {
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
}): Command {
  return new Command('gatehouse')
    .description(
      'Manages merchants, keys and users of Gatehouse, and shows orders, payments, refunds, webhooks and health.',
    )
    .option('--address <host:port,…>', 'the addresses of one or more cores', readAddresses)
    .option('--json', 'print JSON, errors included, instead of tables')
    .option('--verbose', 'print the stack trace of an unexpected error')
    .exitOverride()
    .version(gatehouseVersion, '--version', 'print the version')
    .configureHelp({ showGlobalOptions: true, subcommandTerm })
    .configureOutput({
      ...output,
      outputError: () => undefined,
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
    })
    .addHelpText('after', `\n${settingsHelp}\n\n${exitCodeHelp}`);
}
