import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { noMerchantId, publicId, storedId } from '../../contract/public-id.ts';
import { MissingMoneyDayReason } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { ListMoneyDaysRequest } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import { pageOf, pageTokenIssue, readPageToken } from '../../platform/rpc/page-token.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { environmentNumbers, parseOptionalEnvironment } from '../rpc/environment.ts';
import { parsePageSize } from '../rpc/page-token.ts';
import { parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';
import type { MissingDay } from './missing-days.sql.ts';
import type { MoneyDayFilter, MoneyDayKey, StoredMoneyDay, StoredSums } from './money-days.sql.ts';
import { parseDay } from './reconciliation-day.ts';
import { parseOptionalWallet } from './reconciliation-messages.ts';
import { readStatementName } from './statement-key.ts';

const parseOptionalDate = (date: string): Result<string | undefined, Issue> =>
  date === ''
    ? ok(undefined)
    : parseDay(date) === undefined
      ? err({ field: 'date', issue: 'must be a date (UTC) such as 2026-01-31, or empty' })
      : ok(date);

export function parseMoneyDays(request: ListMoneyDaysRequest): MoneyDayFilter {
  const { merchant, ...filter } = valuesOrThrow(
    combine({
      wallet: parseOptionalWallet(request.wallet),
      environment: parseOptionalEnvironment(request.environment),
      merchant: parseOptionalId('mer', request.merchantId, 'merchant_id'),
      date: parseOptionalDate(request.date),
      after: parseAfter(request),
      limit: parsePageSize(request.pageSize),
    }),
  );
  return {
    ...filter,
    merchantId: merchant === undefined ? undefined : storedId('mer', merchant),
    onlyDifferent: request.onlyDifferent,
    onlyCorrected: request.onlyCorrected,
  };
}

/** The filter that a page token belongs to. */
const filterOf = (request: ListMoneyDaysRequest) => [
  request.wallet,
  request.environment,
  request.merchantId,
  request.date,
  request.onlyDifferent,
  request.onlyCorrected,
];

const keyPattern =
  /^(?<day>[0-9-]{10})\/(?<environment>SANDBOX|PRODUCTION)\/(?<wallet>[^/]+)\/(?<merchant>[0-9a-f-]{36})\/(?<currency>[A-Z]{3})$/;

function parseAfter(request: ListMoneyDaysRequest): Result<MoneyDayKey | undefined, Issue> {
  if (request.pageToken === '') return ok(undefined);
  const groups = keyPattern.exec(readPageToken(request.pageToken, filterOf(request)) ?? '')?.groups;
  if (groups === undefined) return err(pageTokenIssue);
  const { day = '', environment, wallet = '', merchant = '', currency = '' } = groups;
  const key = {
    day,
    wallet: decodeURIComponent(wallet),
    merchant_id: merchant as MoneyDayKey['merchant_id'],
    currency,
  };
  return ok({ ...key, environment: environment === 'SANDBOX' ? 'SANDBOX' : 'PRODUCTION' });
}

/** A page of at most `limit` balances. `read` has one more if there is a next page. */
export function moneyDayPage(request: ListMoneyDaysRequest, read: readonly StoredMoneyDay[], limit: number) {
  const named = read.map((each) => ({
    id: [each.day, each.environment, encodeURIComponent(each.wallet), each.merchant_id, each.currency].join(
      '/',
    ),
    each,
  }));
  const { items, nextPageToken } = pageOf(named, limit, filterOf(request));
  return { days: items.map(({ each }) => moneyDayMessage(each)), nextPageToken };
}

function moneyDayMessage(day: StoredMoneyDay) {
  const merchantId = publicId('mer', day.merchant_id);
  return {
    environment: environmentNumbers[day.environment],
    ...readStatementName(day.wallet),
    date: day.day,
    merchantId: merchantId === noMerchantId ? '' : merchantId,
    currency: day.currency,
    ...sumsMessage(day),
    reconciliationId: publicId('rec', day.reconciliation_id),
    corrections: day.corrections.map((correction) => ({
      ...sumsMessage(correction),
      correctTime: timestampFromMs(correction.corrected_at),
      reconciliationId: publicId('rec', correction.reconciliation_id),
    })),
  };
}

const sumsMessage = (sums: StoredSums) => ({
  statementIn: sums.statement_in,
  statementOut: sums.statement_out,
  completed: sums.completed,
  strays: sums.strays,
  reversals: sums.reversals,
  refunds: sums.refunds,
  difference: sums.difference,
});

export const missingDayMessage = (missing: MissingDay) => ({
  environment: environmentNumbers[missing.environment],
  wallet: missing.wallet,
  payee: missing.payee,
  date: missing.day,
  reason: reasonOf(missing),
  detail: missing.detail ?? '',
  reconciliationId: missing.reconciliation_id === null ? '' : publicId('rec', missing.reconciliation_id),
});

/** A comparison between two tries waits, and its last try is why the day has no balance yet. */
function reasonOf(missing: MissingDay): MissingMoneyDayReason {
  const { has_statement: hasStatement, is_removed: isRemoved, status, detail } = missing;
  if (!hasStatement) return MissingMoneyDayReason.NO_STATEMENT;
  if (isRemoved) return MissingMoneyDayReason.ACCOUNT_REMOVED;
  return status === 'FAILED' || (detail ?? '') !== ''
    ? MissingMoneyDayReason.UNREADABLE
    : MissingMoneyDayReason.WAITING;
}
