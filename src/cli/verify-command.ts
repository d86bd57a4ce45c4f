import type { JsonObject } from '@bufbuild/protobuf';
import { fromJsonString, toBinary } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { counted } from '../contract/counted.ts';
import {
  AuditFindingKind,
  AuditFindingSchema,
  AuditRootSchema,
  AuditSummarySchema,
} from '../gen/gatehouse/v1/audit_service_pb.js';
import type { AuditFinding, AuditRoot, AuditSummary } from '../gen/gatehouse/v1/audit_service_pb.js';
import { CliError, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { plainJson } from './plain-json.ts';
import { fields } from './table.ts';

interface VerifyOptions {
  readonly merchant?: string;
  readonly root?: readonly string[];
}

/** Reads a file as text, or the standard input for `-`. */
type ReadInput = (file: string) => Promise<string>;

/** `audit verify`, `audit root` */
export function addVerifyCommands(audit: Command, run: Runner, readInput: ReadInput): void {
  audit
    .command('verify')
    .description(
      'compare orders, payments, refunds and events with the sealed chains of events, and list the rows that were changed, deleted or inserted',
    )
    .option('--merchant <merchant_id>', 'only this merchant: mer_…')
    .option(
      '--root <file>',
      'a file with the saved JSON of the command audit root; - reads the standard input; repeatable',
      (file: string, earlier?: readonly string[]) => [...(earlier ?? []), file],
    )
    .action((options: VerifyOptions) => run((clients) => verifyRecords(clients, options, readInput)));

  audit
    .command('root')
    .description(
      'print the signed root of a day that has ended, to publish it or keep it outside the gateway',
    )
    .requiredOption('--day <day>', 'the day (UTC), such as 2026-01-31')
    .action(({ day }: { day: string }) =>
      run(async ({ audit: service }) => showRoot(requireField((await service.getAuditRoot({ day })).root))),
    );
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const showRoot = (root: AuditRoot): Output => ({
  json: plainJson(AuditRootSchema, root),
  text: (width) =>
    fields(
      [
        ['Day', `${root.day} (UTC)`],
        ['Root', hex(root.root)],
        ['Previous root', hex(root.previousRoot)],
        ['Signature', hex(root.signature)],
        ['Public key', `${hex(root.publicKey)} (Ed25519)`],
        ['Merchants', String(root.chains.length)],
        ['To keep it', `gatehouse --json audit root --day ${root.day}`],
      ],
      width,
    ),
});

const howToKeepRoots = 'Give a file with lines of: gatehouse --json audit root --day <day>';

async function readRoots(files: readonly string[], readInput: ReadInput): Promise<AuditRoot[]> {
  const roots: AuditRoot[] = [];
  for (const file of files) {
    const lines = (await readInput(file)).split('\n').filter((line) => line.trim() !== '');
    // The file of an "audit root" that failed. Without its root, nothing would be compared.
    if (lines.length === 0)
      throw new CliError(exitCodes.invalidInput, `${file} contains no root`, howToKeepRoots);
    for (const [index, line] of lines.entries())
      try {
        roots.push(fromJsonString(AuditRootSchema, line));
      } catch {
        throw new CliError(
          exitCodes.invalidInput,
          `line ${index + 1} of ${file} is not a root`,
          howToKeepRoots,
        );
      }
  }
  return roots;
}

/** A message may have 4 MiB. The rest is for its other fields. */
const maxRootsBytes = 4 * 1024 * 1024 - 1024;

const bytesOf = (root: AuditRoot): number => toBinary(AuditRootSchema, root).length + 5;

/**
 * The roots without the blocks that would make them too large for one message. The blocks of merchants that are not compared are left out,
 * except one for each root: a root without blocks says nothing about a merchant. If the rest is too large, the oldest days lose their
 * blocks. Core then compares these days as a whole. A chain that was rewritten differs from each later root too, which names its merchant.
 */
function rootsThatFit(roots: readonly AuditRoot[], merchant: string): AuditRoot[] {
  const needed = roots.map(({ chains, ...root }) => {
    const own = chains.filter(({ merchantId }) => merchantId === merchant);
    return { ...root, chains: merchant === '' ? chains : own.length > 0 ? own : chains.slice(0, 1) };
  });
  const withoutBlocks = new Map(needed.map((root) => [root, { ...root, chains: [] }]));
  let bytes = [...withoutBlocks.values()].reduce((sum, root) => sum + bytesOf(root), 0);
  for (const root of needed.toSorted((a, b) => b.day.localeCompare(a.day))) {
    bytes += bytesOf(root) - bytesOf({ ...root, chains: [] });
    if (bytes > maxRootsBytes) break;
    withoutBlocks.delete(root);
  }
  return needed.map((root) => withoutBlocks.get(root) ?? root);
}

async function verifyRecords(
  { audit, merchants }: CoreClients,
  { merchant = '', root = [] }: VerifyOptions,
  readInput: ReadInput,
): Promise<Output> {
  const keptRoots = rootsThatFit(await readRoots(root, readInput), merchant);
  const findings: AuditFinding[] = [];
  let summary: AuditSummary | undefined;
  for await (const { message } of audit.verifyEvents({ merchantId: merchant, keptRoots })) {
    if (message.case === 'finding') findings.push(message.value);
    if (message.case === 'summary') summary = message.value;
  }
  const end = requireField(summary);
  const found = end.eventCount + end.orderCount + end.blockCount + end.findingCount;
  // "Nothing was changed" must not be said of a mistyped merchant. Records that a deleted merchant has left are compared.
  if (merchant !== '' && found === 0n) await merchants.getMerchant({ merchantId: merchant });
  const json: JsonObject = {
    findings: findings.map((finding) => plainJson(AuditFindingSchema, finding)),
    summary: plainJson(AuditSummarySchema, end),
  };
  return {
    json,
    text: [...findings.map(findingText), summaryText(end)].join('\n'),
    exitCode: end.findingCount === 0n ? exitCodes.ok : exitCodes.differences,
  };
}

function subjectOf({ objectId, orderNumber, orderId, merchantId }: AuditFinding): string {
  const order = `order ${orderNumber === '' ? orderId : orderNumber} of ${merchantId}`;
  if (objectId.startsWith('pat_')) return `Payment ${objectId} of ${order}`;
  if (objectId.startsWith('rfd_')) return `Refund ${objectId} of ${order}`;
  return order.replace('order', 'Order');
}

/** The finding, in one sentence. If a restore explains it, a second one says so. */
function findingText(finding: AuditFinding): string {
  const { kind, merchantId, orderNumber, orderId, sequence, blockNumber, day, keptRoot } = finding;
  const event = `Event ${sequence} of order ${orderNumber === '' ? orderId : orderNumber} of ${merchantId}`;
  const block = `Block ${blockNumber} of ${merchantId}`;
  const root = `${keptRoot ? 'Your' : 'The stored'} root of ${day}`;
  const note = finding.explainedByRestore ? ' A restore explains it. See: gatehouse restore status' : '';
  return `${sentence()}${note}`;

  function sentence(): string {
    switch (kind) {
      case AuditFindingKind.EVENT_CHANGED:
        return `${event} was changed after it was sealed.`;
      case AuditFindingKind.EVENT_DELETED:
        return `${event} was deleted.`;
      case AuditFindingKind.EVENT_NOT_SEALED:
        return `${event} is in no block, although later events are. It was inserted, or its block was deleted.`;
      case AuditFindingKind.BLOCK_DELETED:
        return `${block} was deleted.`;
      case AuditFindingKind.BLOCK_CHANGED:
        return `${block} was changed, or the block before it was replaced.`;
      case AuditFindingKind.BLOCK_FORGED:
        return `${block} was not sealed by core. Someone rewrote the chain.`;
      case AuditFindingKind.ROOT_DIFFERS:
        return `${root} differs from the chain${merchantId === '' ? 's' : ` of ${merchantId}`}. Someone rewrote ${merchantId === '' ? 'a' : 'the'} chain.`;
      case AuditFindingKind.ROOT_FORGED:
        return `${root} was not signed by core.`;
      case AuditFindingKind.ROOT_DELETED:
        return `${root} does not follow the root before it. A root was deleted or replaced.`;
      case AuditFindingKind.ROW_CHANGED:
        return `${subjectOf(finding)} was changed: ${finding.fields
          .map(
            ({ field, sealed, stored }) =>
              `${field} was ${JSON.stringify(sealed)} and is ${JSON.stringify(stored)}`,
          )
          .join(', ')}.`;
      case AuditFindingKind.ROW_DELETED:
        return `${subjectOf(finding)} was deleted.`;
      case AuditFindingKind.ROW_INSERTED:
        return `${subjectOf(finding)} was inserted. No event created it.`;
      default:
        return `Core reported a finding that this version does not know (number ${kind}). Use the command line that came with core.`;
    }
  }
}

function summaryText(summary: AuditSummary): string {
  const { eventCount, waitingEventCount, orderCount, blockCount, rootCount } = summary;
  const rest = [
    waitingEventCount === 0n
      ? ''
      : `${counted(waitingEventCount, 'event waits', 'events wait')} for a block.`,
    summary.erasedEventCount === 0n
      ? ''
      : `${counted(summary.erasedEventCount, 'erased event matches the seal of its erasure', 'erased events match the seals of their erasure')}.`,
    summary.incomparableOrderCount === 0n
      ? ''
      : `${counted(summary.incomparableOrderCount, 'order')} could not be compared, because an earlier version wrote the events.`,
    summary.explainedCount === 0n
      ? ''
      : `A restore explains ${counted(summary.explainedCount, 'difference')}.`,
    summary.findingCount > 1_000n ? 'Only the first 1000 findings are shown.' : '',
  ].filter((text) => text !== '');
  return [
    `${summary.findingCount === 0n ? 'Nothing was changed.' : `${counted(summary.findingCount, 'finding')}.`} Compared: ${counted(eventCount, 'event')} of ${counted(orderCount, 'order')} in ${counted(blockCount, 'block')}, and ${counted(rootCount, 'root')}.`,
    ...rest,
  ].join('\n');
}
