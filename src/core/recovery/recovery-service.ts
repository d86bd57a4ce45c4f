import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { isWalletId } from '../../contract/payment-option.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import {
  RecoveredOrderState,
  RecoveredStatementState,
  RecoveredWalletProblem,
  RecoveredWalletState,
  RecoveryCause as CauseMessage,
  RecoveryService,
  RecoveryStream,
} from '../../gen/gatehouse/v1/recovery_service_pb.js';
import type { AcceptRecoveryRequest } from '../../gen/gatehouse/v1/recovery_service_pb.js';
import { pause } from '../../platform/pause.ts';
import { actorOf } from '../../platform/rpc/actor.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { pageOf } from '../../platform/rpc/page-token.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { requiredIssue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type {
  RecoveredOrderState as StoredOrderState,
  RecoveredWalletProblem as StoredProblem,
} from '../database/recovery-entities.ts';
import type { RecoveryCause, StatementState, StreamState, WalletCheck } from '../domain/recovery.ts';
import { parseText } from '../domain/text.ts';
import { environmentNumbers, parseEnvironment } from '../rpc/environment.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { parseId, valuesOrThrow } from '../rpc/request-fields.ts';
import { parseRequiredTime } from '../rpc/time-fields.ts';
import type { AcceptRefusal, AcceptedSubject, RecoveryStore, StoredRecovery } from './recovery-store.ts';

export interface RecoveryServiceParts {
  readonly store: RecoveryStore;
  readonly now: () => Date;
  /** Called after a recovery has begun. It must not wait for a step of the recovery, which may read a long stream. */
  readonly onBegin: () => Promise<void>;
  /** Called after a decision, so that the recovery continues at once. */
  readonly onDecision: () => Promise<void>;
  /** How long the answer to a decision waits for the step that follows. A step may read a long stream, and the decision is stored already. */
  readonly decisionWaitMs?: number;
}

/** gatehouse.v1.RecoveryService. */
export function recoveryService({
  store,
  now,
  onBegin,
  onDecision,
  decisionWaitMs = 5_000,
}: RecoveryServiceParts): RpcService {
  const continueRecovery = async (): Promise<void> => {
    const stopPause = new AbortController();
    await Promise.race([onDecision(), pause(decisionWaitMs, stopPause.signal)]).finally(() =>
      stopPause.abort(),
    );
  };
  const latest = async () => {
    const recovery = await store.latest();
    return recovery === undefined ? {} : { recovery: recoveryMessage(recovery) };
  };
  return rpcService(
    RecoveryService,
    {
      getRecovery: latest,
      async beginRecovery(request, context) {
        const { backupAt } = valuesOrThrow(combine({ backupAt: parsePast(request.backupTime, now()) }));
        await store.begin(backupAt, actorOf(context));
        await onBegin();
        return latest();
      },
      async acceptRecovery(request, context) {
        const { subject, reason } = valuesOrThrow(
          combine({
            subject: parseSubject(request),
            reason: parseText(request.reason, 'reason', { max: 255, required: true }),
          }),
        );
        const accepted = await store.accept(subject, reason, actorOf(context));
        if (!accepted.ok) throw acceptRefused(accepted.error);
        await continueRecovery();
        return latest();
      },
      async listRecoveredOrders(request) {
        const key = [request.merchantId, request.onlyConflicts];
        const { merchantId, after, limit } = valuesOrThrow(
          combine({
            merchantId:
              request.merchantId === '' ? ok(undefined) : parseId('mer', request.merchantId, 'merchant_id'),
            after: parsePageToken(request.pageToken, 'ord', key),
            limit: parsePageSize(request.pageSize),
          }),
        );
        const rows = await store.listOrders({
          merchantId: merchantId === undefined ? undefined : storedId('mer', merchantId),
          onlyConflicts: request.onlyConflicts,
          afterId: after === undefined ? undefined : storedId('ord', after),
          limit,
        });
        const placed = rows.map((row) => ({ id: publicId('ord', row.orderId as StoredId<'ord'>), row }));
        const { items, nextPageToken } = pageOf(placed, limit, key);
        return {
          orders: items.map(({ id, row }) => ({
            merchantId: publicId('mer', row.merchantId as StoredId<'mer'>),
            environment: environmentNumbers[row.environment],
            orderId: id,
            orderNumber: row.orderNumber,
            state: orderStates[row.state],
            recordTime: timestampFromDate(row.recordedAt),
          })),
          nextPageToken,
        };
      },
    },
    {
      listRecoveredOrders: ['dashboard', 'operator', 'reader'],
      getRecovery: ['dashboard', 'operator', 'reader'],
      beginRecovery: ['operator'],
      acceptRecovery: ['operator'],
    },
  );
}

const shownAccounts = 5;

function parsePast(time: Timestamp | undefined, now: Date): Result<Date, Issue> {
  const field = 'backup_time';
  const parsed = parseRequiredTime(time, field);
  return !parsed.ok || parsed.value <= now ? parsed : err({ field, issue: 'must not be in the future' });
}

function parseSubject({
  subject,
  despiteUnacceptedAccounts,
}: AcceptRecoveryRequest): Result<AcceptedSubject, Issue> {
  switch (subject.case) {
    case 'wallet': {
      const environment = parseEnvironment(subject.value.environment);
      if (!environment.ok) return err({ field: 'wallet.environment', issue: environment.error.issue });
      const { wallet } = subject.value;
      if (!isWalletId(wallet))
        return err({ field: 'wallet.wallet', issue: 'must be the id of a wallet, such as walleta' });
      return ok({ type: 'wallet', environment: environment.value, wallet });
    }
    case 'conflicts':
      if (subject.value) return ok({ type: 'conflicts' });
      return err({ field: 'conflicts', issue: 'must be true or absent' });
    case 'accounts':
      if (subject.value) return ok({ type: 'accounts', despiteUnaccepted: despiteUnacceptedAccounts });
      return err({ field: 'accounts', issue: 'must be true or absent' });
    case 'merchants':
      if (subject.value) return ok({ type: 'merchants' });
      return err({ field: 'merchants', issue: 'must be true or absent' });
    case 'erasures':
      if (subject.value) return ok({ type: 'erasures' });
      return err({ field: 'erasures', issue: 'must be true or absent' });
    case undefined:
      return err({ field: 'subject', issue: requiredIssue });
  }
}

const causes = {
  NEW_HOME: CauseMessage.NEW_HOME,
  STREAM_AHEAD: CauseMessage.STREAM_AHEAD,
  OPERATOR: CauseMessage.OPERATOR,
} as const satisfies Record<RecoveryCause, CauseMessage>;

const orderStates = {
  REBUILT: RecoveredOrderState.REBUILT,
  CHANGED_OTHERWISE: RecoveredOrderState.CHANGED_OTHERWISE,
  NUMBER_TAKEN: RecoveredOrderState.NUMBER_TAKEN,
  UNREADABLE: RecoveredOrderState.UNREADABLE,
} as const satisfies Record<StoredOrderState, RecoveredOrderState>;

const streams = {
  WAITING: RecoveryStream.WAITING,
  COMPLETE: RecoveryStream.COMPLETE,
  PARTIAL: RecoveryStream.PARTIAL,
  LOST: RecoveryStream.LOST,
} as const satisfies Record<StreamState, RecoveryStream>;

const states = {
  WAITING: RecoveredWalletState.WAITING,
  READ: RecoveredWalletState.READ,
  ACCEPTED: RecoveredWalletState.ACCEPTED,
} as const satisfies Record<WalletCheck['state'], RecoveredWalletState>;

/** The states of statements in the contract. A statement that was read is not shown. */
const statements = {
  READING: RecoveredStatementState.READING,
  READ: RecoveredStatementState.UNSPECIFIED,
  FAILING: RecoveredStatementState.FAILING,
  REMOVED: RecoveredStatementState.REMOVED,
} as const satisfies Record<StatementState, RecoveredStatementState>;

const problems = {
  '': RecoveredWalletProblem.UNSPECIFIED,
  no_statement: RecoveredWalletProblem.NO_STATEMENT,
  own_accounts: RecoveredWalletProblem.OWN_ACCOUNTS,
  too_long: RecoveredWalletProblem.TOO_LONG,
} as const satisfies Record<StoredProblem, RecoveredWalletProblem>;

function acceptRefused(refusal: AcceptRefusal): Error {
  if (typeof refusal === 'string')
    return rpcError('NOT_RECOVERING', 'the recovery does not wait for this decision');
  const names = refusal.unaccepted
    .slice(0, shownAccounts)
    .map(
      ({ merchantId, walletAccountId, wallet }) =>
        `${publicId('wac', walletAccountId)} of ${publicId('mer', merchantId)} at ${wallet}`,
    );
  const more = refusal.unaccepted.length - names.length;
  return rpcError(
    'ADDED_ACCOUNTS_NOT_ACCEPTED',
    `the provider has not accepted the credentials of ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}, so payments to these accounts in the lost time would not be found; wait for the check, or enter the credentials again`,
  );
}

/** The field is absent when the question is not open. */
const lostFrom = <Name extends string>(name: Name, time: Date | null) =>
  (time === null ? {} : { [name]: timestampFromDate(time) }) as { readonly [name in Name]?: Timestamp };

const recoveryMessage = (recovery: StoredRecovery) => ({
  recoveryId: recovery.id,
  cause: causes[recovery.cause],
  lostFromTime: timestampFromDate(recovery.lostFrom),
  lostUntilTime: timestampFromDate(recovery.lostUntil),
  stream: streams[recovery.stream],
  ...(recovery.streamUntil == null ? {} : { streamUntilTime: timestampFromDate(recovery.streamUntil) }),
  rebuiltOrderCount: recovery.rebuiltOrders,
  rebuiltEventCount: recovery.rebuiltEvents,
  conflictingOrderCount: recovery.conflictingOrders,
  conflictsAcceptedBy: recovery.conflictsAcceptedBy,
  accountsAcceptedBy: recovery.accountsAcceptedBy,
  merchantsAcceptedBy: recovery.merchantsAcceptedBy,
  ...lostFrom('erasuresLostFromTime', recovery.questions.erasuresLostFrom),
  ...lostFrom('accountsLostFromTime', recovery.questions.accountsLostFrom),
  ...lostFrom('merchantsLostFromTime', recovery.questions.merchantsLostFrom),
  heldMerchants: recovery.holds.map(({ environment, merchantId }) => ({
    environment: environmentNumbers[environment],
    merchantId: publicId('mer', merchantId),
  })),
  missingMerchants: recovery.missingMerchants.map(({ merchantId, orders }) => ({
    merchantId: publicId('mer', merchantId),
    orderCount: orders,
  })),
  closedEnvironments: recovery.closed.map((environment) => environmentNumbers[environment]),
  ...(recovery.finishedAt == null
    ? { statementsFromTime: timestampFromDate(recovery.statementsFrom) }
    : { finishTime: timestampFromDate(recovery.finishedAt) }),
  wallets: recovery.wallets.map((check) => ({
    environment: environmentNumbers[check.environment],
    wallet: check.wallet,
    state: states[check.state],
    problem: problems[check.obstacle as StoredProblem],
    unclaimedPaymentCount: check.unclaimedPayments,
    decidedBy: check.decidedBy,
    unreadStatements: check.unread.map(({ payee, state, detail, nextReadAt }) => ({
      payee,
      state: statements[state],
      detail,
      ...(nextReadAt === undefined ? {} : { nextReadTime: timestampFromDate(nextReadAt) }),
    })),
    missingAccounts: check.missingAccounts.map(({ merchantId, walletAccountId, payee }) => ({
      merchantId: publicId('mer', merchantId),
      walletAccountId: publicId('wac', walletAccountId),
      ...(payee === null ? {} : { payee }),
    })),
  })),
});
