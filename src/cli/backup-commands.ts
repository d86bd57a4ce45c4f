import type { Command } from 'commander';
import { SnapshotError } from '../platform/database/snapshot/manifest.ts';
import { SettingsError } from '../platform/settings/read-settings.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { Output } from './output.ts';
import { readCliSettings } from './settings.ts';
import { fields } from './table.ts';

/** The addresses of the databases with the tables of core and of `webhooks`. */
export interface DatabaseUrls {
  readonly core: string;
  /** Undefined if no option or setting names it. Then it is that of core. */
  readonly webhooks?: string | undefined;
}

/** The contents of a backup. */
export interface BackupSummary {
  /** ISO 8601, by the database's clock. */
  readonly takenAt: string;
  readonly schemas: readonly string[];
  readonly tables: number;
  readonly rows: number;
  readonly orders: number;
  readonly deliveries: number;
}

/** The work on the databases and the files of a backup. Every function throws a SnapshotError with advice for operators. */
export interface BackupTools<Urls extends DatabaseUrls = DatabaseUrls> {
  /** Writes all rows into an empty folder. */
  readonly write: (urls: Urls, folder: string, report: (line: string) => void) => Promise<BackupSummary>;
  /** Compares all files with their checksums. */
  readonly verify: (folder: string) => Promise<BackupSummary>;
  /** Loads a backup into databases without tables of Gatehouse. */
  readonly restore: (urls: Urls, folder: string, report: (line: string) => void) => Promise<BackupSummary>;
}

export interface BackupParts {
  readonly tools: BackupTools;
  readonly report: (line: string) => void;
  readonly nowMs: () => number;
  /** The database of this machine's settings; undefined without one. */
  readonly databaseUrl: () => string | undefined;
  /** The database of `webhooks` in these settings; undefined without one. */
  readonly webhooksDatabaseUrl: () => string | undefined;
  readonly finish: (output: Output) => void;
}

interface UrlOptions {
  readonly databaseUrl?: string;
  readonly webhooksDatabaseUrl?: string;
}

/** `backup …` */
export function addBackupCommands(program: Command, parts: BackupParts): void {
  const backup = program
    .command('backup')
    .description('copy the databases of core and webhooks into a folder, while Gatehouse runs')
    .addHelpText('after', '\nFor the options of a backup, run gatehouse backup write --help.');

  withUrls(backup.command('write', { isDefault: true }))
    .description('write a backup (the default command)')
    .requiredOption('--output <folder>', 'an empty folder, which is created if it does not exist')
    .action(async ({ output, ...options }: UrlOptions & { readonly output: string }) => {
      const startedAt = parts.nowMs();
      const summary = await withExplainedErrors(
        parts.tools.write(urlsOf(options, parts), output, parts.report),
      );
      parts.finish(describeBackup(summary, 'Backup', output, parts.nowMs() - startedAt));
    });

  backup
    .command('verify')
    .description('compare every file of a backup with its checksum')
    .argument('<folder>', 'the folder of the backup')
    .action(async (folder: string) => {
      const startedAt = parts.nowMs();
      const summary = await withExplainedErrors(parts.tools.verify(folder));
      parts.finish(describeBackup(summary, 'Undamaged backup', folder, parts.nowMs() - startedAt));
    });
}

/** `restore run`. The caller adds the other commands of `restore`. */
export function addRestoreCommand(restore: Command, parts: BackupParts): void {
  withUrls(restore.command('run', { isDefault: true }))
    .description('load a backup into an empty database, while Gatehouse is stopped (the default command)')
    .requiredOption('--from <folder>', 'the folder of the backup')
    .action(async ({ from, ...options }: UrlOptions & { readonly from: string }) => {
      const startedAt = parts.nowMs();
      const summary = await withExplainedErrors(
        parts.tools.restore(urlsOf(options, parts), from, parts.report),
      );
      const output = describeBackup(summary, 'Restored backup', from, parts.nowMs() - startedAt);
      const text = `${String(output.text)}\n\n${afterRestore}`;
      parts.finish({ ...output, text });
    });
}

const afterRestore = [
  'Start Gatehouse with the master key and the secrets that it had at the time of the backup. With another master key, core does not',
  'start. Core first compares its records with the wallets, and takes no payments until then. To see what it waits for:',
  '  gatehouse restore status',
].join('\n');

const withUrls = (command: Command): Command =>
  command
    .option('--database-url <url>', 'the database of core; default: GATEHOUSE_DATABASE_URL')
    .option(
      '--webhooks-database-url <url>',
      'the database of webhooks; default: GATEHOUSE_WEBHOOKS_DATABASE_URL if it is set and --database-url is not given, otherwise the database of core',
    );

function urlsOf({ databaseUrl, webhooksDatabaseUrl }: UrlOptions, parts: BackupParts): DatabaseUrls {
  const core = checkedUrl('--database-url', databaseUrl) ?? parts.databaseUrl();
  if (core === undefined)
    throw new CliError(
      exitCodes.invalidInput,
      'no database is named',
      'Set GATEHOUSE_DATABASE_URL, or give --database-url postgres://user:password@host:port/name.',
    );
  // GATEHOUSE_WEBHOOKS_DATABASE_URL belongs to GATEHOUSE_DATABASE_URL, not to a database that an option names.
  const inSettings = databaseUrl === undefined ? parts.webhooksDatabaseUrl() : undefined;
  return { core, webhooks: checkedUrl('--webhooks-database-url', webhooksDatabaseUrl) ?? inSettings };
}

/** The URL of an option, under the rules of the setting. Commander's own errors would repeat it with its password. */
function checkedUrl(option: string, url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  try {
    return readCliSettings({ GATEHOUSE_DATABASE_URL: url }).GATEHOUSE_DATABASE_URL;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new CliError(
      exitCodes.invalidInput,
      error.message.replace('GATEHOUSE_DATABASE_URL', option),
      'Write it as postgres://user:password@host:port/name.',
    );
  }
}

/** Errors of files and databases are for the operator, who can correct them. */
async function withExplainedErrors<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    const { message, advice, isUnreachable } = error;
    throw new CliError(isUnreachable ? exitCodes.unreachable : exitCodes.refused, message, advice);
  }
}

function describeBackup(summary: BackupSummary, title: string, folder: string, tookMs: number): Output {
  const { takenAt, schemas, tables, rows, orders, deliveries } = summary;
  return {
    json: {
      folder,
      taken_at: takenAt,
      schemas: [...schemas],
      tables,
      rows,
      orders,
      deliveries,
      took_ms: Math.round(tookMs),
    },
    text: (width) =>
      fields(
        [
          [title, folder],
          ['Taken at', takenAt],
          ['Schemas', schemas.join(', ')],
          ['Tables', `${tables}, with ${rows} rows`],
          ['Orders', String(orders)],
          ['Deliveries', String(deliveries)],
          ['Time', `${(tookMs / 1000).toFixed(1)} s`],
        ],
        width,
      ),
  };
}
