import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { validate, version } from 'uuid';
import { uuidOfId } from '../../contract/public-id.ts';
import { canonicalDecimal } from '../../contract/decimal-text.ts';
import { maskBody } from '../connector/mask-text.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import type { Unknown } from '../connector/outcomes.ts';
import type { Answer, ExchangePurpose, RawExchange } from '../connector/raw-exchange.ts';
import { StatementError } from '../connector/statement-error.ts';
import type {
  CallOptions,
  StatementEntry,
  StatementPage,
  StatementPeriod,
  UnreadableEntry,
} from '../connector/wallet-connector.ts';
import { statementTime } from '../connector/statement-time.ts';
import { accountReference, attemptIdEnd } from './account-reference.ts';
import { pullTerms } from './daraja-capabilities.ts';
import { eatOffset, spacedTime } from './eat-time.ts';
import { isReceipt } from './messages.ts';
import type { MpesaClient } from './mpesa-client.ts';
import { unknown, unknownAfter } from './mpesa-error.ts';

export interface PullParts {
  readonly client: MpesaClient;
  readonly shortCode: string;
  readonly currency: string;
  readonly now: () => Date;
  readonly isGranted: boolean;
}

const hourMs = 60 * 60 * 1000;
const longestPeriodMs = pullTerms.reachMs;
/** The time zone of the statement is not documented, so a search covers both candidates. */
const zoneMarginMs = 4 * hourMs;
const maxPages = 10_000;
/** The size of a page is not documented. A transaction has about 230 bytes. */
const maxPageBytes = 1024 * 1024;
const pullPath = '/pulltransactions/v1/query';

const answerSchema = Type.Object({
  ResponseCode: Type.Union([Type.String(), Type.Number()]),
  Response: Type.Optional(Type.Array(Type.Array(Type.Unknown()), { maxItems: 100 })),
});
const transactionSchema = Type.Object({
  transactionId: Type.String(),
  trxDate: Type.Optional(Type.String()),
  transactiontype: Type.Optional(Type.String()),
  billreference: Type.Optional(Type.String()),
  amount: Type.Union([Type.String(), Type.Number()]),
});
type PulledTransaction = Static<typeof transactionSchema>;

/**
 * The transactions of the last 48 hours by Pull Transactions, page by page.
 * @throws StatementError
 */
export async function* readPullStatement(
  parts: PullParts,
  period: StatementPeriod,
  options: CallOptions,
): AsyncGenerator<StatementPage, void, void> {
  if (!parts.isGranted) {
    throw new StatementError(unknown('not_asked', 'this wallet has no statement'), []);
  }
  // A period that begins earlier could only be read in part.
  if (parts.now().getTime() - period.from.getTime() > longestPeriodMs) {
    throw new StatementError(
      unknown(
        'not_asked',
        'the statement covers the last 48 hours only; compare the day with the M-Pesa portal by hand',
      ),
      [],
    );
  }
  let position = 0;
  for await (const { items, exchanges } of pages(parts, period, 'statement', options)) {
    const entries: StatementEntry[] = [];
    const unreadable: UnreadableEntry[] = [];
    for (const item of items) {
      const entry = readEntry(item, parts.currency);
      if (typeof entry === 'string') unreadable.push({ position, why: entry });
      else entries.push(entry);
      position += 1;
    }
    yield { entries, unreadable, exchanges };
  }
}

/**
 * The first receipt with the account reference of the attempt that was not tried before. Finding none decides nothing.
 *
 * The statement also contains payments of other attempts, and of other merchants that share the short code. So the exchanges, which are
 * stored with the attempt, contain no other transaction, and one of them stands for all pages. A check of credentials asks about an id
 * without a time. No payment can have it, so one page is enough.
 */
export async function findInStatement(
  parts: PullParts,
  attemptId: string,
  options: CallOptions,
  tried: ReadonlySet<string> = new Set(),
): Promise<Answer<{ readonly kind: 'found'; readonly receipt: string } | Unknown>> {
  const read = new PagesRead();
  const now = parts.now().getTime();
  const createdAt = timeOfId(attemptId);
  const from = new Date(Math.max(createdAt - zoneMarginMs, now - longestPeriodMs));
  const period = { from, to: new Date(now + zoneMarginMs) };
  const wanted = accountReference(attemptId);
  try {
    for await (const page of pages(parts, period, 'recover', options)) {
      read.add(page.exchanges, page.items.length);
      const found = page.items.find(
        (item): item is PulledTransaction =>
          Value.Check(transactionSchema, item) &&
          isReceipt(item.transactionId) &&
          !tried.has(item.transactionId) &&
          item.billreference?.trim().toUpperCase() === wanted,
      );
      if (found !== undefined) {
        const result = { kind: 'found', receipt: found.transactionId } as const;
        return { result, exchanges: read.exchanges(maskBody(JSON.stringify(found), [])) };
      }
      if (createdAt === 0) break;
    }
  } catch (error) {
    if (!(error instanceof StatementError)) throw error;
    read.add(error.exchanges, 0);
    return {
      result: error.reason,
      exchanges: read.exchanges('not stored, because it may show other payments'),
    };
  }
  const result = unknown('not_found', 'the statement does not show this payment yet');
  return { result, exchanges: read.exchanges(`${read.transactions} transactions, none is this payment`) };
}

/** The exchanges of the pages that were read for one attempt. */
class PagesRead {
  readonly #others: RawExchange[] = [];
  #last: RawExchange | undefined;
  #transactions = 0;

  get transactions(): number {
    return this.#transactions;
  }

  add(exchanges: readonly RawExchange[], transactions: number): void {
    this.#transactions += transactions;
    for (const exchange of exchanges)
      if (isPage(exchange)) this.#last = exchange;
      else this.#others.push(exchange);
  }

  /** The last page with this text instead of its transactions, and all exchanges that contain none. */
  exchanges(text: string): readonly RawExchange[] {
    return this.#last === undefined ? this.#others : [...this.#others, { ...this.#last, responseBody: text }];
  }
}

/** Whether an exchange may contain transactions. Refusals contain none. */
const isPage = ({ url, status }: RawExchange): boolean =>
  url.endsWith(pullPath) && status !== undefined && status < 300;

/** The size of a page is not documented, so the pages end with the first empty one. @throws StatementError */
async function* pages(
  parts: PullParts,
  { from, to }: StatementPeriod,
  purpose: ExchangePurpose,
  options: CallOptions,
): AsyncGenerator<{ readonly items: readonly unknown[]; readonly exchanges: readonly RawExchange[] }> {
  const seen = new Set<string>();
  for (let page = 0, offset = 0; page < maxPages; page += 1) {
    const { result: reply, exchanges } = await parts.client.post(
      {
        purpose,
        path: pullPath,
        body: {
          ShortCode: parts.shortCode,
          StartDate: spacedTime(from),
          EndDate: spacedTime(to),
          OffSetValue: String(offset),
        },
        secrets: [],
        maxAnswerBytes: maxPageBytes,
      },
      options,
    );
    const items = readPage(reply, exchanges);
    offset += items.length;
    const fresh = items.filter((item) => {
      const key = JSON.stringify(item);
      const isNew = !seen.has(key);
      seen.add(key);
      return isNew;
    });
    // A part of the statement must not be taken for the whole.
    if (fresh.length === 0 && items.length > 0) {
      const detail = 'the wallet repeats transactions and ignores the offset';
      throw new StatementError(unknown('inconsistent', detail), exchanges);
    }
    yield { items: fresh, exchanges };
    if (items.length === 0) return;
  }
  throw new StatementError(
    unknown('answer_too_large', `the statement has more than ${maxPages} pages, which is the limit`),
    [],
  );
}

/** @throws StatementError for any other answer */
function readPage(reply: JsonReply, exchanges: readonly RawExchange[]): readonly unknown[] {
  if (reply.kind !== 'answered' || reply.status !== 200 || !reply.body.ok) {
    throw new StatementError(unknownAfter(reply), exchanges);
  }
  const { json } = reply.body;
  if (!Value.Check(answerSchema, json)) {
    throw new StatementError(unknown('unreadable_answer', 'the answer is not a statement'), exchanges);
  }
  const code = String(json.ResponseCode);
  // 1001 means that there are no transactions in the period.
  if (code !== '1000' && code !== '1001') {
    const detail = `the wallet answered with the response code ${code.slice(0, 32)}`;
    throw new StatementError(unknown('unrecognised_code', detail), exchanges);
  }
  return (json.Response ?? []).flat();
}

function readEntry(item: unknown, currency: string): StatementEntry | string {
  if (!Value.Check(transactionSchema, item)) return 'a required property is missing';
  const amount = canonicalDecimal(String(item.amount));
  if (amount === undefined) return 'the amount is not a decimal number';
  if (!isReceipt(item.transactionId)) return 'the transaction id is not a receipt number';
  const occurredAt = statementTime(item.trxDate, eatOffset);
  // The prompts carry the end of the attempt's id as the account reference.
  const requestId = attemptIdEnd(item.billreference?.trim() ?? '');
  const type = (item.transactiontype ?? '').toLowerCase();
  return {
    providerTransactionId: item.transactionId,
    type: type.includes('reversal') ? 'reversal' : type.startsWith('c2b') ? 'payment' : 'other',
    status: 'completed',
    amount,
    currency,
    ...(requestId === undefined ? {} : { requestId }),
    ...(occurredAt === undefined ? {} : { occurredAt }),
    fees: [],
  };
}

/** The time inside an id of version 7 (RFC 9562, section 5.7), in milliseconds since 1970; 0 for other ids. */
function timeOfId(id: string): number {
  const uuid = validate(id) ? id : uuidOfId(id);
  if (uuid === undefined || version(uuid) !== 7) return 0;
  return Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16);
}
