import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { AuditEntrySchema } from '../gen/gatehouse/v1/audit_service_pb.js';
import type { AuditEntry } from '../gen/gatehouse/v1/audit_service_pb.js';
import { auditKinds } from '../contract/audit-kinds.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { onAnyMerchant } from './merchant-argument.ts';
import { limitOption, pageTokenOption } from './options.ts';
import type { Output, Runner } from './output.ts';
import { showMore } from './paging.ts';
import { collectKnown } from './require-known.ts';
import type { PageOptions } from './paging.ts';
import { plainJson } from './plain-json.ts';
import { table } from './table.ts';
import { showTime } from './time.ts';
import { addVerifyCommands } from './verify-command.ts';
import { addPeriod, periodOf } from './period.ts';
import type { PeriodOptions } from './period.ts';

interface AuditOptions extends PageOptions, PeriodOptions {
  readonly merchant?: string;
  readonly kind?: string;
}

/** `audit list`, `audit verify`, `audit root` */
export function addAuditCommands(
  program: Command,
  run: Runner,
  readInput: (file: string) => Promise<string>,
  now: () => Date,
): void {
  const audit = program
    .command('audit')
    .description('read the audit log, and prove that the records were not changed');
  addVerifyCommands(audit, run, readInput);
  onAnyMerchant(
    addPeriod(
      audit
        .command('list')
        .description('list changes and sign-ins, newest first')
        .option(
          '--kind <kind>',
          'only changes to this kind of object: the part before the dot, such as api_key in api_key.create',
        ),
      'changes',
    )
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    'only changes to this merchant and its objects: mer_…',
    (options: AuditOptions) => run((clients) => listEntries(clients, options, now())),
  );
}

const showDetails = (details: JsonObject): string =>
  Object.entries(details)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n');

/** The action, its target and, if the target does not identify the merchant, the merchant. */
const showChange = ({ action, targetId, merchantId }: AuditEntry): string =>
  [...new Set([action, targetId, merchantId])].filter((part) => part !== '').join('\n');

/** A mistyped kind would look like a log without entries. A newer core may know more kinds, so those with entries are listed. */
function requireKnownKind(kind: string): void {
  if (kind === '' || auditKinds.some((known) => known === kind)) return;
  throw new CliError(
    exitCodes.invalidInput,
    `the audit log has no kind ${kind}`,
    `Use one of: ${auditKinds.join(', ')}.`,
  );
}

async function listEntries(clients: CoreClients, options: AuditOptions, now: Date): Promise<Output> {
  const { merchant = '', kind = '' } = options;
  const { since, until, ofNextPage } = periodOf(options, now);
  const page = await collectKnown(clients, { merchantId: merchant }, options, async (request) => {
    const reply = await clients.audit.listAuditEntries({
      ...request,
      merchantId: merchant,
      actionKind: kind,
      ...(since && { fromTime: since }),
      ...(until && { toTime: until }),
    });
    return { items: reply.entries, nextPageToken: reply.nextPageToken };
  });
  if (page.items.length === 0) requireKnownKind(kind);
  const columns = [
    { head: 'TIME' },
    { head: 'ACTOR', atMost: 20 },
    { head: 'CHANGE' },
    { head: 'DETAILS', wraps: true },
  ];
  const rows = page.items.map((entry) => [
    showTime(entry.createTime),
    entry.actorEmail === '' ? entry.actor : entry.actorEmail,
    showChange(entry),
    showDetails(entry.details ?? {}),
  ]);
  return {
    json: {
      entries: page.items.map((entry) => plainJson(AuditEntrySchema, entry)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      rows.length === 0
        ? 'No entries of the audit log match.'
        : `${table(columns, rows, width)}${showMore(page, ofNextPage)}`,
  };
}
