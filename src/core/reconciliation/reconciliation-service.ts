import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { ReconciliationService } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type {
  ListReconciliationsRequest,
  StartReconciliationRequest,
} from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import { annotate, markUneventful } from '../../platform/rpc/call-context.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { actorOf } from '../../platform/rpc/actor.ts';
import { publicId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseEnvironment, parseOptionalEnvironment } from '../rpc/environment.ts';
import { parseLease } from '../rpc/lease-fields.ts';
import { pageOf } from '../../platform/rpc/page-token.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { parseId, valuesOrThrow } from '../rpc/request-fields.ts';
import { walletText } from '../rpc/wallet-text.ts';
import type { Wallet } from '../domain/wallet.ts';
import { parseDay } from './reconciliation-day.ts';
import {
  differenceMessage,
  parseEntries,
  parseOptionalWallet,
  parseReconciledWallet,
  parseWallet,
  reconciliationMessage,
} from './reconciliation-messages.ts';
import { missingDayMessage, moneyDayPage, parseMoneyDays } from './money-day-messages.ts';
import type { StatementCredentials } from './payee-accounts.sql.ts';
import type { BalanceReader } from './read-balances.ts';
import type { StatementKey } from './statement-key.ts';
import type { Reconciliation, ReconciliationStore } from './reconciliation-store.ts';

export interface ReconciliationServiceParts {
  readonly store: ReconciliationStore;
  /** The e-mail addresses of the users among the actors. */
  readonly emailsOf: (actors: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly now: () => Date;
  readonly wallets: readonly Wallet[];
  readonly balances: BalanceReader;
}

const maxError = 512;

/** gatehouse.v1.ReconciliationService. */
export function reconciliationService({
  store,
  emailsOf,
  now,
  wallets,
  balances,
}: ReconciliationServiceParts): RpcService {
  return rpcService(
    ReconciliationService,
    {
      async startReconciliation(request, context) {
        const { date, ...key } = valuesOrThrow(
          combine({
            ...parseReconciledWallet(request, wallets),
            payee: parsePayee(request, await balances.statements()),
            date: parseDate(request.date, now()),
          }),
        );
        const started = await store.start(key, date, actorOf(context).actor);
        annotate(context, { reconciliation_id: publicId('rec', started.id) });
        return { reconciliation: reconciliationMessage(started) };
      },
      async leaseReconciliation(request, context) {
        const { leaseMs, ...key } = valuesOrThrow(
          combine({
            wallet: parseWallet(request.wallet),
            environment: parseEnvironment(request.environment),
            ownAccounts: ok(request.ownAccounts),
            leaseMs: parseLease(request.lease),
          }),
        );
        const leased = await store.lease(key, leaseMs);
        if (leased === undefined) markUneventful(context);
        annotate(context, { items: leased === undefined ? 0 : 1 });
        if (leased === undefined) return {};
        return {
          leased: {
            reconciliation: reconciliationMessage(leased.reconciliation),
            leaseId: leased.leaseId,
            fromTime: timestampFromDate(leased.from),
            toTime: timestampFromDate(leased.to),
            ...credentialsMessage(leased.credentials),
          },
        };
      },
      async recordStatementPage(request, context) {
        const { id, leaseId, entries } = valuesOrThrow(
          combine({ ...parseLeaseKey(request), entries: parseEntries(request.entries) }),
        );
        annotate(context, { reconciliation_id: id, items: entries.length });
        return { reconciliation: messageOrThrow(await store.record(id, leaseId, entries), id) };
      },
      async completeReconciliation(request, context) {
        const { id, leaseId } = valuesOrThrow(combine(parseLeaseKey(request)));
        const completed = await store.complete(id, leaseId, walletText(request.error, maxError));
        annotate(context, { reconciliation_id: id });
        if (completed.ok) annotate(context, { differences: completed.value.differences });
        return { reconciliation: messageOrThrow(completed, id) };
      },
      async getReconciliation(request) {
        const { id } = valuesOrThrow(combine(parseKey(request)));
        const found = await getOrThrow(store, id);
        return { reconciliation: reconciliationMessage(found, await emailsOf([found.startedBy])) };
      },
      async listReconciliations(request) {
        const { filter, key } = parseFilter(request);
        const listed = await store.list({ ...filter, limit: filter.limit + 1 });
        const page = pageOf(
          listed.map((reconciliation) => ({ id: publicId('rec', reconciliation.id), reconciliation })),
          filter.limit,
          key,
        );
        const emails = await emailsOf(page.items.map(({ reconciliation }) => reconciliation.startedBy));
        return {
          reconciliations: page.items.map(({ reconciliation }) =>
            reconciliationMessage(reconciliation, emails),
          ),
          nextPageToken: page.nextPageToken,
        };
      },
      async listDifferences(request) {
        const { id, limit } = valuesOrThrow(
          combine({ ...parseKey(request), limit: parsePageSize(request.pageSize) }),
        );
        const found = await getOrThrow(store, id);
        const differences = await store.differences(id, request.afterNumber, limit);
        return { differences: differences.map((difference) => differenceMessage(difference, found)) };
      },
      async listMoneyDays(request) {
        const filter = parseMoneyDays(request);
        const { onlyDifferent, onlyCorrected, after } = filter;
        const isMissingShown = !onlyDifferent && !onlyCorrected && after === undefined;
        const missing = isMissingShown ? await balances.missingDays(filter) : [];
        const read = await balances.moneyDays({ ...filter, limit: filter.limit + 1 });
        return { ...moneyDayPage(request, read, filter.limit), missing: missing.map(missingDayMessage) };
      },
    },
    {
      startReconciliation: ['dashboard', 'operator'],
      leaseReconciliation: ['wallets'],
      recordStatementPage: ['wallets'],
      completeReconciliation: ['wallets'],
      getReconciliation: ['dashboard', 'operator', 'reader'],
      listReconciliations: ['dashboard', 'operator', 'reader'],
      listDifferences: ['dashboard', 'operator', 'reader'],
      listMoneyDays: ['dashboard', 'operator', 'reader'],
    },
  );
}

/** Which account of a merchant to read the statement with; none for the operator's. */
const credentialsMessage = (credentials: StatementCredentials | undefined) =>
  credentials === undefined
    ? {}
    : {
        merchantId: publicId('mer', credentials.merchant_id),
        walletAccountId: publicId('wac', credentials.wallet_account_id),
      };

/** Parses the payee account of a new reconciliation. Issue: its statement cannot be read. */
function parsePayee(
  { wallet, environment, payee }: StartReconciliationRequest,
  statements: readonly StatementKey[],
): Result<string, Issue> {
  const inEnvironment = parseEnvironment(environment);
  const isKnown = statements.some(
    (each) =>
      each.wallet === wallet &&
      inEnvironment.ok &&
      each.environment === inEnvironment.value &&
      each.payee === payee,
  );
  const issue =
    'must be empty, or the payee account of a merchant at this wallet, such as accountid 3001, as balances show it';
  return payee === '' || isKnown ? ok(payee) : err({ field: 'payee', issue });
}

const notFound = (id: string) => rpcError('RECONCILIATION_NOT_FOUND', `there is no reconciliation ${id}`);

async function getOrThrow(store: ReconciliationStore, id: PublicId<'rec'>): Promise<Reconciliation> {
  const found = await store.get(id);
  if (found === undefined) throw notFound(id);
  return found;
}

function messageOrThrow(result: Result<Reconciliation, 'not_found' | 'lease_lost'>, id: string) {
  if (result.ok) return reconciliationMessage(result.value);
  if (result.error === 'not_found') throw notFound(id);
  throw rpcError('LEASE_LOST', 'the lease has expired, and another worker reads or has read the statement');
}

const parseKey = (request: { readonly reconciliationId: string }) => ({
  id: parseId('rec', request.reconciliationId, 'reconciliation_id'),
});

const parseLeaseKey = (request: { readonly reconciliationId: string; readonly leaseId: string }) => ({
  ...parseKey(request),
  leaseId: request.leaseId === '' ? err({ field: 'lease_id', issue: 'is required' }) : ok(request.leaseId),
});

/** Parses a day that has begun. For a day that has not ended, the payments so far are compared. */
function parseDate(date: string, now: Date): Result<string, Issue> {
  const day = parseDay(date);
  if (day === undefined) return err({ field: 'date', issue: 'must be a date (UTC) such as 2026-01-31' });
  if (day.from > now) return err({ field: 'date', issue: 'must not be in the future' });
  return ok(date);
}

function parseFilter(request: ListReconciliationsRequest) {
  const key = [request.wallet, request.environment];
  const filter = valuesOrThrow(
    combine({
      wallet: parseOptionalWallet(request.wallet),
      environment: parseOptionalEnvironment(request.environment),
      beforeId: parsePageToken(request.pageToken, 'rec', key),
      limit: parsePageSize(request.pageSize),
    }),
  );
  return { filter, key };
}
