import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { StatementError } from '../connector/statement-error.ts';
import type { RawExchange } from '../connector/raw-exchange.ts';
import type { StatementEntry, StatementPage, StatementPeriod } from '../connector/wallet-connector.ts';
import type { JsonAnswer } from '../connector/json-reply.ts';
import { statementTime } from '../connector/statement-time.ts';
import type { GsmaClient } from './gsma-client.ts';
import type { GsmaSettings } from './gsma-settings.ts';
import { resourceUrl } from './gsma-settings.ts';
import { transactionSchema } from './messages.ts';
import type { Transaction } from './messages.ts';
import { isTransactionId } from './provider-reference.ts';
import { readFees, readMoney } from './read-transaction.ts';
import { unansweredQuery, unknown } from './unknown-outcome.ts';

/** The default page size of the contract, which every wallet supports. */
const pageLimit = 50;
const maxPageBytes = 1024 * 1024;
/** More entries than any account has in a day. A longer statement means that the wallet repeats pages. */
const maxEntries = 1_000_000;

/**
 * Reads `GET /accounts/{type}/{id}/transactions` of the payee account page by page, to the end. If the wallet states the number
 * of entries, the statement must have that number.
 *
 * Pages count from the newest entry, so a new one moves the others, and the next page repeats the end of the last. Repeated
 * entries are left out. After a removal, the next page would lack an entry, so a statement that becomes shorter is incomplete.
 * @throws StatementError
 */
export async function* readStatement(
  client: GsmaClient,
  settings: GsmaSettings,
  period: StatementPeriod,
  signal: AbortSignal,
): AsyncGenerator<StatementPage> {
  let available: number | undefined;
  let offset = 0;
  let position = 0;
  const seen = new Map<string, string>();
  for (;;) {
    const { answer, exchanges } = await askForPage(
      client,
      settings,
      pageUrl(settings, period, offset),
      signal,
    );
    const rows = readRows(answer, exchanges);
    const stated = readCount(answer, 'x-records-available-count');
    if (stated !== undefined && available !== undefined && stated < available) {
      throw incompleteStatement(
        `the number of entries fell from ${available} to ${stated} while the statement was read`,
        exchanges,
      );
    }
    available = stated ?? available;
    if (rows.length === 0 && offset < (available ?? 0)) {
      throw incompleteStatement(
        `the wallet announced ${available} entries, and returned none after the first ${offset}`,
        exchanges,
      );
    }
    const fresh = withoutRepeated(rows, seen, exchanges);
    // Without a number of entries nothing else shows the end. With one, new payments may have moved a whole page.
    if (fresh.length === 0 && rows.length > 0 && available === undefined) {
      throw incompleteStatement(`the wallet repeats entries and ignores the offset ${offset}`, exchanges);
    }
    const page = readPage(fresh, position, exchanges);
    yield page;
    position += page.entries.length + page.unreadable.length;
    offset += rows.length;
    if (rows.length === 0 || (available !== undefined && offset >= available)) return;
    if (offset > maxEntries) {
      throw incompleteStatement(
        `the statement has more than ${maxEntries} entries, which is the limit; compare the day by hand`,
        exchanges,
      );
    }
  }
}

/** One page, within the time limit of a call. @throws StatementError when there is none */
async function askForPage(
  client: GsmaClient,
  settings: GsmaSettings,
  url: URL,
  signal: AbortSignal,
): Promise<{ answer: JsonAnswer; exchanges: readonly RawExchange[] }> {
  const { result: reply, exchanges } = await client.call(
    { purpose: 'statement', url, maxAnswerBytes: maxPageBytes },
    AbortSignal.any([signal, AbortSignal.timeout(settings.timeouts.callMs)]),
  );
  if (reply.kind === 'answered' && reply.status === 200) return { answer: reply, exchanges };
  throw new StatementError(unansweredQuery(reply), exchanges);
}

function pageUrl(settings: GsmaSettings, { from, to }: StatementPeriod, offset: number): URL {
  const url = resourceUrl(settings, 'accounts', settings.payee.type, settings.payee.id, 'transactions');
  url.search = new URLSearchParams({
    limit: String(pageLimit),
    offset: String(offset),
    fromDateTime: from.toISOString(),
    toDateTime: to.toISOString(),
  }).toString();
  return url;
}

const namedSchema = Type.Pick(transactionSchema, ['transactionReference']);

function readRows(answer: JsonAnswer, exchanges: readonly RawExchange[]): readonly unknown[] {
  if (!answer.body.ok) throw new StatementError(unknown('unreadable_answer', answer.body.problem), exchanges);
  const rows: unknown = answer.body.json;
  if (!Array.isArray(rows)) {
    throw new StatementError(
      unknown('unreadable_answer', 'the answer is not a list of transactions'),
      exchanges,
    );
  }
  const returned = readCount(answer, 'x-records-returned-count');
  if (returned !== undefined && returned !== rows.length) {
    throw incompleteStatement(
      `the wallet announced ${returned} entries on a page, and returned ${rows.length}`,
      exchanges,
    );
  }
  return rows;
}

function readCount({ headers }: JsonAnswer, name: string): number | undefined {
  const text = headers[name];
  return text !== undefined && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

const incompleteStatement = (detail: string, exchanges: readonly RawExchange[]) =>
  new StatementError(unknown('inconsistent', detail), exchanges);

/** The rows that no earlier page had, which are added to `seen`. Unreadable ones are always new. */
function withoutRepeated(
  rows: readonly unknown[],
  seen: Map<string, string>,
  exchanges: readonly RawExchange[],
): readonly unknown[] {
  const added: [key: string, state: string][] = [];
  const fresh = rows.filter((row) => {
    if (!Value.Check(transactionSchema, row)) return true;
    const { transactionReference, type, transactionStatus, amount, currency } = row;
    const key = `${type} ${transactionReference}`;
    const state = `${transactionStatus} ${amount} ${currency}`;
    const earlier = seen.get(key);
    if (earlier === undefined) added.push([key, state]);
    else if (earlier !== state)
      throw incompleteStatement(
        `the entry ${transactionReference} changed while the statement was read`,
        exchanges,
      );
    return earlier === undefined;
  });
  // Only now, because one page may name a transaction more than once.
  for (const [key, state] of added) seen.set(key, state);
  return fresh;
}

function readPage(rows: readonly unknown[], first: number, exchanges: readonly RawExchange[]): StatementPage {
  const entries: StatementEntry[] = [];
  const unreadable: StatementPage['unreadable'][number][] = [];
  rows.forEach((row, index) => {
    if (Value.Check(transactionSchema, row)) entries.push(readEntry(row));
    else unreadable.push({ position: first + index, why: explainRow(row) });
  });
  return { entries, unreadable, exchanges };
}

/** Why a row cannot be read, with its transaction if it names one: its position says little, because the wallet's portal sorts rows differently. */
function explainRow(row: unknown): string {
  const error = Value.Errors(transactionSchema, row).First();
  if (error === undefined) return 'not a transaction';
  const named = Value.Check(namedSchema, row) && isTransactionId(row.transactionReference);
  return `${named ? `transaction ${row.transactionReference}, ` : ''}${error.path === '' ? 'entry' : error.path}: ${error.message}`;
}

function readEntry(row: Transaction): StatementEntry {
  const requestId = row.requestingOrganisationTransactionReference ?? '';
  const originalTransactionId = row.originalTransactionReference ?? '';
  const occurredAt = statementTime(row.creationDate, 'Z');
  return {
    providerTransactionId: row.transactionReference,
    type: entryTypes.get(row.type.toLowerCase()) ?? 'other',
    status: entryStatuses.get(row.transactionStatus.toLowerCase()) ?? 'other',
    ...readMoney(row.amount, row.currency),
    ...(requestId === '' ? {} : { requestId }),
    ...(originalTransactionId === '' ? {} : { originalTransactionId }),
    ...(occurredAt === undefined ? {} : { occurredAt }),
    fees: readFees(row),
  };
}

const entryTypes: ReadonlyMap<string, StatementEntry['type']> = new Map([
  ['merchantpay', 'payment'],
  ['reversal', 'reversal'],
  ['adjustment', 'reversal'],
]);

const entryStatuses: ReadonlyMap<string, StatementEntry['status']> = new Map([
  ['completed', 'completed'],
  ['pending', 'pending'],
  ['failed', 'failed'],
  ['reversed', 'reversed'],
]);
