import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { CliError, exitCodes } from './cli-error.ts';
import type { Output } from './output.ts';
import { allFaults, faultWords, readFaults } from './prove/faults.ts';
import type { Fault } from './prove/faults.ts';
import { fingerprintOf, verifyReport } from './prove/report.ts';
import type { ProveReport } from './prove/report.ts';
import { showReport } from './prove/show-report.ts';
import type { CliSettings } from './settings.ts';

/** The options of a campaign. */
export interface ProveOptions {
  /** Undefined chooses one. */
  readonly seed?: number;
  /** How often every fault is done. */
  readonly rounds: number;
  /** After this time, no other fault begins. */
  readonly minutes?: number;
  readonly faults: readonly Fault[];
  readonly ratePerSecond: number;
  /** Undefined names one in the folder of campaigns. */
  readonly reportFile?: string;
  /** An Ed25519 private key in PEM. Undefined uses the key in the folder of campaigns, which is made on first use. */
  readonly keyFile?: string;
  /** Empty servers of the operator. Undefined starts own ones. */
  readonly databaseUrl?: string;
  readonly natsUrl?: string;
}

/** The work on processes, servers and keys. Every function throws an Error with a message for operators. */
export interface ProveTools {
  /** Runs a campaign and writes its signed report. Aborting the signal ends it, and nothing is left running. */
  readonly run: (
    options: ProveOptions,
    parts: {
      /** The folder of campaigns. As the other files, a path that is not absolute begins at the folder in which the command runs. */
      readonly folder: string;
      readonly report: (line: string) => void;
      readonly signal: AbortSignal;
    },
  ) => Promise<{
    readonly report: ProveReport;
    readonly file: string;
    readonly publicKey: string;
    /** The folder with logs and database, which is kept unless the campaign passed. */
    readonly keptFolder: string | undefined;
  }>;
  /** The public key in a file, or that of the folder of campaigns; undefined when that has none. */
  readonly knownKey: (file: string | undefined, folder: string) => Promise<string | undefined>;
}

export interface ProveParts {
  readonly tools: ProveTools;
  readonly readConfig: () => CliSettings;
  /** Reads a file as text. @throws CliError */
  readonly readInput: (file: string) => Promise<string>;
  readonly report: (line: string) => void;
  readonly interruption: () => AbortSignal;
  readonly finish: (output: Output) => void;
}

interface RunOptions {
  readonly rounds: number;
  readonly minutes?: number;
  readonly seed?: number;
  readonly only?: readonly Fault[];
  readonly rate: number;
  readonly report?: string;
  readonly key?: string;
  readonly folder?: string;
  readonly databaseUrl?: string;
  readonly natsUrl?: string;
}

const help = `
The campaign starts a gateway of its own with the simulated wallets of the sandbox. It attacks
nothing else, except the servers that --database-url and --nats-url name.
docs/operating/prove.md describes the faults, the report and its signature.
`;

const wholeNumber =
  (max: number) =>
  (text: string): number => {
    if (/^[1-9][0-9]{0,9}$/.test(text) && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`Use a whole number from 1 to ${max}.`);
  };

function readSeed(text: string): number {
  if (/^[0-9]{1,10}$/.test(text) && Number(text) < 2 ** 31) return Number(text);
  throw new InvalidArgumentError(`Use a whole number from 0 to ${2 ** 31 - 1}.`);
}

function readOnly(text: string): readonly Fault[] {
  const faults = readFaults(text);
  if (faults !== undefined) return faults;
  throw new InvalidArgumentError(`Write words separated by commas, each ${faultWords}.`);
}

const readUrl =
  (protocols: readonly string[], example: string) =>
  (text: string): string => {
    if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return text;
    throw new InvalidArgumentError(`Write it as ${example}.`);
  };

/** `prove …` */
export function addProveCommands(program: Command, parts: ProveParts): void {
  const prove = program
    .command('prove')
    .description(
      'attack a separate gateway with faults, compare its records with the wallets, and sign a report',
    )
    .addHelpText('after', '\nFor the options of a campaign, run gatehouse prove run --help.');
  const folderOf = (given: string | undefined): string =>
    given ?? `${parts.readConfig().GATEHOUSE_DATA_DIR}/prove`;

  prove
    .command('run', { isDefault: true })
    .description('run a campaign (the default command)')
    .option('--rounds <number>', 'the number of times that each fault is inflicted', wholeNumber(1_000), 1)
    .option(
      '--minutes <number>',
      'the number of minutes after which no further fault begins',
      wholeNumber(10_000),
    )
    .option(
      '--seed <number>',
      'the seed of an earlier campaign, to repeat its faults in the same order',
      readSeed,
    )
    .option('--only <words>', `only these faults: ${faultWords}`, readOnly)
    .option('--rate <number>', 'the number of customers that arrive in each second', wholeNumber(1_000), 10)
    .option('--report <file>', 'a new file for the signed report; default: one in the folder of campaigns')
    .option(
      '--key <file>',
      'an Ed25519 private key (PEM) that signs; default: the key in the folder of campaigns',
    )
    .option('--folder <folder>', 'the folder of campaigns; default: prove in the data folder')
    .option(
      '--database-url <url>',
      "an empty PostgreSQL of yours, instead of the campaign's own",
      readUrl(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/gatehouse_prove'),
    )
    .option(
      '--nats-url <url>',
      "an empty NATS server of yours, instead of the campaign's own",
      readUrl(['nats:', 'tls:'], 'nats://user:password@host:4222'),
    )
    .addHelpText('after', help)
    .action(async (options: RunOptions) => {
      const { rounds, minutes, seed, only, rate, report, key, databaseUrl, natsUrl } = options;
      const signal = parts.interruption();
      const result = await withExplainedErrors(
        parts.tools.run(
          {
            rounds,
            faults: only ?? allFaults,
            ratePerSecond: rate,
            ...(minutes === undefined ? {} : { minutes }),
            ...(seed === undefined ? {} : { seed }),
            ...(report === undefined ? {} : { reportFile: report }),
            ...(key === undefined ? {} : { keyFile: key }),
            ...(databaseUrl === undefined ? {} : { databaseUrl }),
            ...(natsUrl === undefined ? {} : { natsUrl }),
          },
          { folder: folderOf(options.folder), report: parts.report, signal },
        ),
        signal,
      );
      const kept = result.keptFolder === undefined ? [] : [`Logs and data  ${result.keptFolder}`];
      parts.finish({
        json: {
          file: result.file,
          key: fingerprintOf(result.publicKey),
          kept_folder: result.keptFolder ?? '',
          report: result.report,
        },
        text: (width) =>
          [
            showReport(result.report, width),
            '',
            `Report         ${result.file}`,
            `Signed by      ${fingerprintOf(result.publicKey)}`,
            ...kept,
          ].join('\n'),
        exitCode: result.report.verdict === 'passed' ? exitCodes.ok : exitCodes.notProven,
      });
    });

  prove
    .command('verify')
    .description('check that a report is unchanged, and who signed it')
    .argument('<report>', 'the file of the report')
    .option(
      '--key <file>',
      'the expected public or private key (PEM); default: the key in the folder of campaigns',
    )
    .option('--folder <folder>', 'the folder of campaigns; default: prove in the data folder')
    .action(async (file: string, options: Pick<RunOptions, 'key' | 'folder'>) => {
      const known = await withExplainedErrors(parts.tools.knownKey(options.key, folderOf(options.folder)));
      const verified = verifyReport(await parts.readInput(file));
      if ('problem' in verified)
        throw new CliError(
          exitCodes.notProven,
          `${file} proves nothing: ${verified.problem}`,
          'Ask for the original file of the report.',
        );
      const { report, publicKey } = verified;
      if (known !== undefined && known !== publicKey)
        throw new CliError(
          exitCodes.notProven,
          `${file} is signed by another key: ${fingerprintOf(publicKey)}, expected ${fingerprintOf(known)}`,
          'If the report is from another machine, give the key of that machine with --key.',
        );
      const signer =
        known === undefined
          ? 'No expected key is known. Compare the fingerprint with the one that the signer gives you, or add --key.'
          : 'This is the expected key.';
      parts.finish({
        json: { unchanged: true, key: fingerprintOf(publicKey), key_known: known !== undefined, report },
        text: (width) =>
          [
            showReport(report, width),
            '',
            'The report is unchanged.',
            `Signed by      ${fingerprintOf(publicKey)}`,
            signer,
          ].join('\n'),
      });
    });
}

/** Errors of files, servers and processes are for the operator, who can correct them. */
async function withExplainedErrors<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (signal?.aborted === true)
      throw new CliError(
        exitCodes.notProven,
        'the campaign was interrupted: its processes are stopped, and there is no report',
        'To repeat it, use the seed that it printed.',
      );
    if (!(error instanceof Error) || !['StartError', 'SettingsError'].includes(error.name)) throw error;
    const [message = '', ...advice] = error.message.split('\n');
    throw new CliError(exitCodes.refused, message, advice.join('\n'));
  }
}
