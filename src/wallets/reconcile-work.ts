import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { StatementEntryStatus, StatementEntryType } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import type {
  LeasedReconciliation,
  ReconciliationService,
  StatementEntrySchema,
} from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import type { AccountConnectors } from './account-connectors.ts';
import { StatementError } from './connector/statement-error.ts';
import type { StatementEntry, StatementPage, WalletConnector } from './connector/wallet-connector.ts';
import type { LeasedWork } from './lease-worker.ts';

export interface ReconcileWorkParts {
  /** The name in the log, such as "walleta-sandbox". */
  readonly name: string;
  /** The wallet's id. */
  readonly wallet: string;
  readonly environment: Environment;
  /** The connector with the operator's settings. */
  readonly connector: WalletConnector;
  /** The connectors with merchants' own settings. */
  readonly accounts: Pick<AccountConnectors, 'use'>;
  readonly reconciliations: Client<typeof ReconciliationService>;
  readonly newRequestId: () => string;
  readonly logger: Logger;
  /** Aborts the reading when the process stops. */
  readonly stop: AbortSignal;
}

/** Longer than the time of a page. Each page renews the lease. */
const leaseSeconds = 120n;
/** The deadline of core's comparison, which covers every entry of the day. */
const comparingMs = 120_000;
/** The largest number of entries per call. */
const entriesAtOnce = 1_000;

type EntryMessage = MessageInitShape<typeof StatementEntrySchema>;

/** The work on statements of one wallet: they are read to their end and sent to core, which compares them. */
export function reconcileWork(parts: ReconcileWorkParts): LeasedWork<LeasedReconciliation> {
  const { name, wallet, environment, reconciliations, logger, newRequestId } = parts;
  return {
    name: `${name} reconciliations`,
    async lease() {
      const request = { wallet, environment, lease: { seconds: leaseSeconds }, ownAccounts: true };
      const { leased } = await reconciliations.leaseReconciliation(request);
      return { items: leased === undefined ? [] : [leased] };
    },
    idsOf: ({ reconciliation, walletAccountId }) => ({
      reconciliation_id: reconciliation?.reconciliationId,
      ...(walletAccountId === '' ? {} : { wallet_account_id: walletAccountId }),
    }),
    async serve(leased) {
      const startedAt = performance.now();
      const requestId = newRequestId();
      const options = { headers: { 'x-request-id': requestId }, timeoutMs: comparingMs };
      const { leaseId } = leased;
      const reconciliationId = leased.reconciliation?.reconciliationId ?? '';
      const isOwn = leased.walletAccountId !== '';
      const error = isOwn
        ? await parts.accounts.use(
            leased,
            async (connector, { mask }) => mask(await readStatement(parts, connector, leased, requestId)),
            (detail, failure) => {
              // Another try is better than a day without a statement.
              if (failure !== undefined) throw ConnectError.from(failure);
              return detail;
            },
          )
        : await readStatement(parts, parts.connector, leased, requestId);
      // The process stops. The statement is not at fault, and another process reads it when the lease has expired.
      if (parts.stop.aborted) return true;
      const { reconciliation } = await reconciliations.completeReconciliation(
        { reconciliationId, leaseId, error },
        options,
      );
      logger[error === '' ? 'info' : 'warn'](
        {
          request_id: requestId,
          wallet: name,
          reconciliation_id: reconciliationId,
          date: leased.reconciliation?.date,
          ...(isOwn ? { wallet_account_id: leased.walletAccountId } : {}),
          entries: reconciliation?.entries,
          differences: reconciliation?.differences,
          ...(error === '' ? {} : { error }),
          duration_ms: Math.round(performance.now() - startedAt),
        },
        'reconciliation',
      );
      // An own account that fails says nothing about the wallet's statements.
      return error === '' || (isOwn ? undefined : false);
    },
  };
}

/** Sends every page to core. Returns why the statement could not be read to its end, or ''. */
async function readStatement(
  { reconciliations, stop }: ReconcileWorkParts,
  connector: WalletConnector,
  leased: LeasedReconciliation,
  requestId: string,
): Promise<string> {
  if (!connector.capabilities.statement) return 'this wallet offers no statement';
  const { leaseId } = leased;
  const reconciliationId = leased.reconciliation?.reconciliationId ?? '';
  const period = { from: dateOf(leased.fromTime), to: dateOf(leased.toTime) };
  let position = 0;
  try {
    for await (const page of connector.statement(period, { signal: stop })) {
      const entries = entriesOf(page, position);
      position += entries.length;
      for (let first = 0; first < entries.length; first += entriesAtOnce) {
        await reconciliations.recordStatementPage(
          { reconciliationId, leaseId, entries: entries.slice(first, first + entriesAtOnce) },
          { headers: { 'x-request-id': requestId } },
        );
      }
    }
    return '';
  } catch (error) {
    if (error instanceof StatementError) return error.reason.detail;
    throw error;
  }
}

const dateOf = (time: Timestamp | undefined): Date =>
  time === undefined ? new Date(NaN) : timestampDate(time);

/** The entries of a page in the order of the statement, including the unreadable ones. */
function entriesOf({ entries, unreadable }: StatementPage, first: number): EntryMessage[] {
  const problems = new Map(unreadable.map(({ position, why }) => [position, why]));
  const readable = entries[Symbol.iterator]();
  return Array.from({ length: entries.length + unreadable.length }, (_, index): EntryMessage => {
    const position = first + index;
    const problem = problems.get(position);
    if (problem !== undefined) return { position, type: StatementEntryType.UNREADABLE, problem };
    const { value } = readable.next();
    return value === undefined
      ? { position, type: StatementEntryType.UNREADABLE, problem: 'the connector did not return this entry' }
      : { position, ...entryMessage(value) };
  });
}

const types = {
  payment: StatementEntryType.PAYMENT,
  reversal: StatementEntryType.REVERSAL,
  other: StatementEntryType.OTHER,
} as const satisfies Record<StatementEntry['type'], StatementEntryType>;

const statuses = {
  completed: StatementEntryStatus.COMPLETED,
  pending: StatementEntryStatus.PENDING,
  failed: StatementEntryStatus.FAILED,
  reversed: StatementEntryStatus.REVERSED,
  other: StatementEntryStatus.OTHER,
} as const satisfies Record<StatementEntry['status'], StatementEntryStatus>;

const entryMessage = (entry: StatementEntry): EntryMessage => ({
  type: types[entry.type],
  status: statuses[entry.status],
  providerTransactionId: entry.providerTransactionId,
  amount: entry.amount,
  currency: entry.currency,
  requestId: entry.requestId ?? '',
  originalTransactionId: entry.originalTransactionId ?? '',
  ...(entry.occurredAt === undefined ? {} : { occurTime: timestampFromDate(entry.occurredAt) }),
});
