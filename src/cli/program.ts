import { Command, CommanderError, Help } from 'commander';
import type { Option } from 'commander';
import { addAuditCommands } from './audit-commands.ts';
import { addBackupCommands, addRestoreCommand } from './backup-commands.ts';
import type { BackupTools } from './backup-commands.ts';
import { addCertifyCommand } from './certify-command.ts';
import { exitCodeHelp, exitCodes } from './cli-error.ts';
import { createCommandRun } from './command-run.ts';
import type { CommandRun, CommandRunParts } from './command-run.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { describeFailure, failureJson, failureText } from './failure.ts';
import { addKeyCommands } from './key-commands.ts';
import { addListenCommand } from './listen-command.ts';
import { addMerchantCommands } from './merchant-commands.ts';
import { nameOf } from './merchant-argument.ts';
import { readAddresses } from './options.ts';
import { addOrderCommands } from './order-commands.ts';
import { addPaymentCommands } from './payment-commands.ts';
import { addPersonalDataCommands } from './personal-data-commands.ts';
import { addProveCommands } from './prove-command.ts';
import type { ProveTools } from './prove-command.ts';
import { addReconcileCommands } from './reconcile-commands.ts';
import { addRecoveryCommands } from './recovery-commands.ts';
import { addRefundCommands } from './refund-commands.ts';
import { addRehearseCommand } from './rehearse-command.ts';
import type { BeginRehearsal } from './rehearse-command.ts';
import { addSettlementCommands } from './settlement-commands.ts';
import { dashboardOf } from './target.ts';
import { addUserCommands } from './user-commands.ts';
import { addWalletCommands } from './wallet-commands.ts';
import type { WalletTools } from './wallet-commands.ts';
import { addWebhookCommands } from './webhooks/webhook-commands.ts';
import { refuseEmptyValues, refuseRepeatedOptions } from './refuse-input.ts';
import { gatehouseVersion } from './version.ts';
import { withSourcePositions } from '../platform/source-positions.ts';

/** The environment of the program. */
export interface CliParts extends CommandRunParts {
  readonly walletTools: WalletTools;
  readonly backupTools: BackupTools;
  readonly proveTools: ProveTools;
  readonly beginRehearsal: BeginRehearsal;
  readonly now: () => Date;
  /** Aborts at Ctrl-C. After the first call of this function, Ctrl-C alone does not end the process. */
  readonly interruption: () => AbortSignal;
  /** In the form of `process.version`. */
  readonly nodeVersion: string;
}

/** The width of help texts without a terminal, which documentation quotes, and on a wider terminal. */
const maxHelpWidth = 100;
/** On a narrower terminal, the lines are broken by the terminal. */
const minHelpWidth = 80;
/** Commander leaves narrower descriptions as one line. Beside the longest name of a command there are 17 columns of 80. */
const minWidthToWrap = 15;

const settingsHelp = `Addresses of core:
  --address, otherwise GATEHOUSE_CORE_ADDRESSES, both with the token in GATEHOUSE_SERVICE_TOKEN;
  otherwise the core that npm start runs on this machine, from .gatehouse/demo.json.
Addresses of webhooks:
  GATEHOUSE_WEBHOOKS_ADDRESSES; otherwise the process that npm start runs with that core.
URL of the dashboard, for one-time links:
  GATEHOUSE_DASHBOARD_BASE_URL; otherwise the dashboard that npm start runs with that core.`;

/** Runs one command. Resolves with its exit code, one of `exitCodes`, and never rejects. */
export async function runCli(args: readonly string[], parts: CliParts): Promise<number> {
  const { stdout, stderr } = parts;
  const isJson = args.includes('--json');
  const program = createProgram({
    writeOut: stdout,
    writeErr: isJson ? () => undefined : stderr,
    helpWidth: Math.max(minHelpWidth, Math.min(maxHelpWidth, parts.width ?? maxHelpWidth)),
  });
  const run = createCommandRun(program, isJson, parts);
  addCommands(program, run, isJson, parts);
  program.commands.forEach(refuseRepeatedOptions);
  program.hook('preAction', (_, command) => refuseEmptyValues(command));
  try {
    await program.parseAsync(args, { from: 'user' });
    return run.exitCode();
  } catch (error) {
    const isHelp = error instanceof CommanderError && error.code === 'commander.help';
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
    const { server, addresses } = run.calledServer();
    const failure = describeFailure(error, { addresses, server });
    const stack =
      args.includes('--verbose') && error instanceof Error
        ? withSourcePositions(error.stack ?? '')
        : undefined;
    if (isJson) stderr(failureJson(failure, stack));
    // The help of an incomplete command is already printed.
    else if (!isHelp) stderr(failureText(failure, stack, server));
    return failure.exitCode;
  }
}

/** Adds all commands, in the order of the help. */
function addCommands(program: Command, run: CommandRun, isJson: boolean, parts: CliParts): void {
  const { onCore, findMerchant, refuseUnknownMerchant, readInput, finish, report, note } = run;
  const { now } = parts;
  addMerchantCommands(program, onCore, findMerchant, readInput);
  addKeyCommands(program, onCore, findMerchant, now);
  addOrderCommands(program, { run: onCore, findMerchant, openWebhooks: run.openWebhooksBeside, now });
  addPaymentCommands(program, onCore, findMerchant);
  addRefundCommands(program, { run: onCore, findMerchant, now, report, note });
  addSettlementCommands(program, onCore, findMerchant);
  addWalletCommands(program, onCore, parts.walletTools, finish);
  addBackupAndRestoreCommands(program, run, parts);
  addReconcileCommands(program, { run: onCore, now, report, note });
  addWebhookCommands(program, {
    ...parts,
    run: run.onWebhooks,
    report,
    note,
    findMerchant,
    refuseUnknownMerchant,
  });
  addListenCommand(program, {
    ...parts,
    findWebhooks: run.findWebhookServers,
    findMerchant,
    report,
    isJson,
  });
  const calledAddresses = (): readonly string[] => run.calledServer().addresses;
  addCertifyCommand(program, {
    ...parts,
    run: onCore,
    calledAddresses,
    isJson,
    readInput,
    report,
    finish,
  });
  addProveCommands(program, { ...parts, tools: parts.proveTools, readInput, report, finish });
  addUserCommands(program, onCore, findMerchant, async () => dashboardOf(await run.findTarget()));
  addAuditCommands(program, onCore, readInput, now);
  addPersonalDataCommands(program, onCore);
  addRehearseCommand(program, { run: onCore, begin: parts.beginRehearsal, report });
  const hasTls = (): boolean => parts.readConfig().GATEHOUSE_TLS_CA_FILE !== undefined;
  addDoctorCommand(program, { ...parts, findTarget: run.findTarget, hasTls }, finish);
}

function addBackupAndRestoreCommands(
  program: Command,
  { onCore, report, print }: CommandRun,
  { backupTools, now, readConfig }: CliParts,
): void {
  const parts = {
    tools: backupTools,
    report,
    nowMs: () => now().getTime(),
    databaseUrl: () => readConfig().GATEHOUSE_DATABASE_URL,
    webhooksDatabaseUrl: () => readConfig().GATEHOUSE_WEBHOOKS_DATABASE_URL,
    finish: print,
  };
  addBackupCommands(program, parts);
  const restore = program
    .command('restore')
    .description('restore a backup, and follow the recovery of a restored gateway')
    .addHelpText('after', '\nFor the options of a restore, run gatehouse restore run --help.');
  addRestoreCommand(restore, parts);
  addRecoveryCommands(restore, onCore);
}

/** A line of a command list, with the arguments as in the usage of the command itself. Aliases are former names, which no help shows. */
function subcommandTerm(command: Command): string {
  const usage = command.commands.length === 0 ? command.usage() : '';
  const withOptions = command.options.length === 0 ? usage.replace('[options]', '') : usage;
  return `${command.name()} ${withOptions}`.replace(/\s+/g, ' ').trim();
}

const commandUsage = (command: Command): string => `${nameOf(command)} ${command.usage()}`;

/** The description of an option in a help text. Commander does not name the options that a command needs. */
const optionDescription = (option: Option): string =>
  `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`;

/** Wraps the lines that Commander leaves as they are, such as the exit codes. The rest of a line begins below its text. */
const wrapHelp = (text: string, width: number): string =>
  text
    .split('\n')
    .map((line) => {
      const [indent = ''] = /^ *(?:\d {2})?/.exec(line) ?? [];
      const wrapped = new Help().boxWrap(line.slice(indent.length), width - indent.length);
      return indent + wrapped.replaceAll('\n', `\n${' '.repeat(indent.length)}`);
    })
    .join('\n');

interface HelpOutput {
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
  readonly helpWidth: number;
}

/** The program without its commands. Commander's own errors are thrown, not printed. */
function createProgram({ writeOut, writeErr, helpWidth }: HelpOutput): Command {
  return new Command('gatehouse')
    .description(
      'Manages merchants, keys and users of Gatehouse, and shows orders, payments, refunds, webhooks and health.',
    )
    .option('--address <host:port,…>', 'the addresses of one or more cores', readAddresses)
    .option('--json', 'print JSON, errors included, instead of tables')
    .option('--verbose', 'print the stack trace of an unexpected error')
    .exitOverride()
    .version(gatehouseVersion, '--version', 'print the version')
    .configureHelp({
      showGlobalOptions: true,
      minWidthToWrap,
      subcommandTerm,
      commandUsage,
      optionDescription,
    })
    .configureOutput({
      writeOut: (text) => writeOut(wrapHelp(text, helpWidth)),
      writeErr: (text) => writeErr(wrapHelp(text, helpWidth)),
      outputError: () => undefined,
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
    })
    .addHelpText('after', `\n${settingsHelp}\n\n${exitCodeHelp}`);
}
