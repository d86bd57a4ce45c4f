import { create } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { maxTurnWaitMs } from '../../../platform/rpc/call-limits.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import { rpcService } from '../../../contract/rpc-service.ts';
import { publicId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import {
  CreateRefundRequestSchema,
  CreateRefundResponseSchema,
  NotRefundable as NotRefundableMessage,
  RefundService,
} from '../../../gen/gatehouse/v1/refund_service_pb.js';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { actorOf } from '../../../platform/rpc/actor.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import { annotate, callerOf, markUneventful } from '../../../platform/rpc/call-context.ts';
import { pageOf } from '../../../platform/rpc/page-token.ts';
import type { RpcService } from '../../../platform/rpc/rpc-service.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { combine } from '../../domain/combine.ts';
import { parseIdempotencyKey } from '../../domain/idempotency-key.ts';
import { requiredIssue } from '../../domain/issue.ts';
import { Money } from '../../domain/money.ts';
import type { Environment } from '../../domain/order.ts';
import { refundLimitOf } from '../../domain/refund-limits.ts';
import type { RefundLimit } from '../../domain/refund-limits.ts';
import type { NotRefundable } from '../../domain/refundable.ts';
import { err, ok } from '../../domain/result.ts';
import { parseText } from '../../domain/text.ts';
import { merchantRefusal } from '../../merchants/find-merchant.ts';
import type { FindMerchant } from '../../merchants/find-merchant.ts';
import { parseEnvironment } from '../../rpc/environment.ts';
import { nothingDueFor, parseLeaseRequest } from '../../rpc/lease-fields.ts';
import { refundMessage } from '../../rpc/refund-message.ts';
import { refundingRoleNumber } from '../../rpc/refund-policy-message.ts';
import { parseId, valuesOrThrow } from '../../rpc/request-fields.ts';
import { fingerprintOf } from '../idempotency/keyed-calls.ts';
import type { AnswerOnce } from '../idempotency/keyed-calls.ts';
import type { StartRefund, CreatedRefund, RefundRequest } from './start-refund.ts';
import type { DecideApproval, DecisionRefusal, RefundKey } from './decide-approval.ts';
import type { FindRefundingRole } from './find-refunding-role.ts';
import type { OrderRefundable, RefundName, RefundReader } from './find-refunds.ts';
import {
  parseCreateRefund,
  parseRefundFilter,
  parseRefundName,
  parseReversalOutcome,
  reasonLength,
} from './refund-requests.ts';
import type { RefundWork } from './refund-work.ts';
import type { WatchRefunds } from './watch-refunds.ts';

/** Whether a merchant's API key may create refunds in an environment now. */
export type MayKeyRefund = (
  apiKeyId: PublicId<'key'>,
  merchantId: PublicId<'mer'>,
  environment: Environment,
) => Promise<boolean>;

export interface RefundServiceParts {
  readonly startRefund: StartRefund;
  /**
   * Limits the refunds that are created or read at a time, by merchant and environment, and the decisions, by merchant. Refunds take turns
   * with the payments of their merchant, so many refunds do not refuse its payments.
   */
  readonly fairly: FairCalls;
  /** Limits the lists and sums of refunds that are read at a time, by merchant and environment. */
  readonly searchFairly: FairCalls;
  readonly gate: Pick<PaymentGate, 'missing'>;
  readonly answerOnce: AnswerOnce;
  readonly decideApproval: DecideApproval;
  readonly reader: RefundReader;
  readonly work: RefundWork;
  readonly findMerchant: FindMerchant;
  readonly findRole: FindRefundingRole;
  readonly watchRefunds: WatchRefunds;
  readonly mayKeyRefund: MayKeyRefund;
}

const createdMessage = ({ refund, repeated }: CreatedRefund) =>
  create(CreateRefundResponseSchema, { refund: refundMessage(refund), repeated });

/** The part of a merchant's turns. */
const part = 'refunds';

const creators = ['facade', 'dashboard', 'operator', 'writer'] as const;
const readers = [...creators, 'reader'] as const;

/** gatehouse.v1.RefundService. */
export function refundService(parts: RefundServiceParts): RpcService {
  const { startRefund, fairly, answerOnce, gate, reader, work, findMerchant, findRole, watchRefunds } = parts;
  const decide = async (key: RefundKey, verdict: Parameters<DecideApproval>[1], context: HandlerContext) => {
    annotate(context, { merchant_id: key.merchantId, refund_id: key.refundId });
    // Such a call holds a connection while it waits for its order's lock.
    const decided = await fairly({ owner: `approvals ${key.merchantId}` }, context.signal, () =>
      parts.decideApproval(key, verdict, actorOf(context)),
    );
    if (!decided.ok) throw decided.error === 'not_found' ? await missing(key) : decisionError(decided.error);
    return { refund: refundMessage(decided.value) };
  };

  /** RECOVERING while a restore may have lost the refund. A caller that was told "not found" would refund the money again. */
  const missing = (refund: RefundKey | RefundName): Promise<Error> => gate.missing(refund, notFound());

  return rpcService(
    RefundService,
    {
      async createRefund(request, context) {
        const wanted = parseCreateRefund(request);
        annotate(context, { merchant_id: wanted.merchantId });
        const { merchantId, environment } = wanted;
        const owner = `${environment} ${merchantId}`;
        // A refund holds a connection while it waits for its order's lock.
        const inShare = <T>(work: () => Promise<T>): Promise<T> =>
          fairly({ owner, part, maxWaitMs: maxTurnWaitMs(context) }, context.signal, work);
        const findBy = () => findCreator(parts.mayKeyRefund, request.apiKeyId, wanted, context);
        const createKeyed = async (key: string) => {
          const by = await inShare(findBy);
          return answerOnce({
            name: { merchantId, environment, operation: 'CREATE_REFUND', key },
            fingerprint: fingerprintOf(CreateRefundRequestSchema, request),
            response: CreateRefundResponseSchema,
            responseOf: createdMessage,
            signal: context.signal,
            maxWaitMs: maxTurnWaitMs(context),
            run: (keyed) => inShare(() => startRefund(wanted, by, keyed)),
          });
        };
        const key = parseIdempotencyKey(request.idempotencyKey);
        if (request.validateOnly || !key.ok) {
          await inShare(findBy);
          valuesOrThrow(key);
          return {};
        }
        // In one turn, because a second one may be long in coming.
        const createOnce = async () => startRefund(wanted, await findBy());
        const response =
          key.value === undefined ? createdMessage(await inShare(createOnce)) : await createKeyed(key.value);
        const { refund, repeated } = response;
        annotate(context, { refund_id: refund?.refundId, order_id: refund?.orderId, repeated });
        return response;
      },
      async getRefund(request, context) {
        const name = parseRefundName(request);
        const owner = `${name.environment ?? ''} ${name.merchantId}`;
        const refund = await fairly({ owner, part, maxWaitMs: maxTurnWaitMs(context) }, context.signal, () =>
          reader.find(name),
        );
        if (refund === undefined) throw await missing(name);
        return { refund: refundMessage(refund) };
      },
      async listRefunds(request, { signal }) {
        const { filter, key } = parseRefundFilter(request);
        const owner = `${filter.environment ?? ''} ${filter.merchantId ?? ''}`;
        const found = await parts.searchFairly({ owner }, signal, () =>
          reader.list({ ...filter, limit: filter.limit + 1 }),
        );
        const { items, nextPageToken } = pageOf(found, filter.limit, key);
        return { refunds: items.map(refundMessage), nextPageToken };
      },
      async getRefundable(request, context) {
        const key = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            environment: parseEnvironment(request.environment),
            orderId: parseId('ord', request.orderId, 'order_id'),
          }),
        );
        // Sums all refunds of the order, whose number has no limit.
        const owner = `${key.environment} ${key.merchantId}`;
        const found = await parts.searchFairly({ owner }, context.signal, () => reader.refundableOf(key));
        if (found === undefined) throw await gate.missing(key);
        const terms = await findMerchant(key.merchantId);
        const role = await findRole(key.merchantId, actorOf(context));
        const limit =
          terms === undefined ? undefined : refundLimitOf(terms, role, found.order.amount.currency.code);
        return refundableMessage(found, limit);
      },
      async approveRefund(request, context) {
        const key = valuesOrThrow(combine(parseKey(request)));
        return decide(key, { type: 'approve' }, context);
      },
      async declineRefund(request, context) {
        const { reason, ...key } = valuesOrThrow(
          combine({
            ...parseKey(request),
            reason: parseText(request.reason, 'reason', { max: reasonLength, required: false }),
          }),
        );
        return decide(key, { type: 'decline', reason }, context);
      },
      async leaseRefunds(request, context) {
        const asked = parseLeaseRequest(request, 'max_refunds', request.maxRefunds);
        const { items: leased, nothingDueForMs } = await work.lease(asked);
        annotate(context, { items: leased.length });
        if (leased.length === 0) markUneventful(context);
        return {
          refunds: leased.map(({ refund, callbackNotes, walletAccountId, ...lease }) => ({
            ...lease,
            walletAccountId: walletAccountId === null ? '' : publicId('wac', walletAccountId),
            refund: refundMessage(refund),
            callbackNotes: [...callbackNotes],
          })),
          ...nothingDueFor(nothingDueForMs),
        };
      },
      async recordRefundOutcome(request, context) {
        const { leaseId, outcome, ...key } = valuesOrThrow(
          combine({
            ...parseKey(request),
            leaseId:
              request.leaseId === '' ? err({ field: 'lease_id', issue: 'is required' }) : ok(request.leaseId),
            outcome: parseReversalOutcome(request),
          }),
        );
        annotate(context, { refund_id: key.refundId, outcome: outcome.type });
        const { requestId } = callerOf(context);
        const { exchanges } = request;
        const recorded = await work.record(key, { leaseId, outcome, exchanges, requestId }, context.signal);
        if (recorded.ok) return { refund: refundMessage(recorded.value) };
        if (recorded.error === 'not_found') throw notFound();
        throw rpcError('LEASE_LOST', 'the lease has expired, and another worker holds the refund');
      },
      watchRefunds,
      async hastenRefund(request, context) {
        const key = valuesOrThrow(combine(parseKey(request)));
        annotate(context, { refund_id: key.refundId });
        const { exchange, callbackNote: note } = request;
        const hastened = await work.hasten(key, { exchange, note }, context.signal);
        if (hastened === undefined) throw await missing(key);
        return { refund: refundMessage(hastened) };
      },
    },
    {
      createRefund: creators,
      getRefund: readers,
      listRefunds: readers,
      getRefundable: readers,
      approveRefund: ['dashboard', 'operator'],
      declineRefund: ['dashboard', 'operator'],
      leaseRefunds: ['wallets'],
      recordRefundOutcome: ['wallets'],
      hastenRefund: ['wallets', 'dashboard', 'operator'],
      watchRefunds: ['operator', 'writer', 'reader'],
    },
  );
}

/** The actor of a request. A merchant's own request acts by its API key, which needs the scope. */
async function findCreator(
  mayKeyRefund: MayKeyRefund,
  apiKeyId: string,
  request: RefundRequest,
  context: HandlerContext,
): Promise<Actor> {
  const by = actorOf(context);
  if (callerOf(context).role !== 'facade') {
    if (apiKeyId === '') return by;
    return valuesOrThrow<never>(
      err({ field: 'api_key_id', issue: 'must be empty: only the role facade sends it' }),
    );
  }
  const parsed =
    apiKeyId === ''
      ? err({ field: 'api_key_id', issue: requiredIssue })
      : parseId('key', apiKeyId, 'api_key_id');
  const key = valuesOrThrow(parsed);
  if (await mayKeyRefund(key, request.merchantId, request.environment))
    return { ...by, actor: `facade:${key}` };
  throw rpcError(
    'API_KEY_NOT_ALLOWED',
    'this API key may not refund; give it the scope for refunds, or use a key that has it',
  );
}

/** @param limit - above which a second person must approve */
function refundableMessage(
  { order, possible, pendingMinorUnits }: OrderRefundable,
  limit: RefundLimit | undefined,
) {
  const { currency } = order.amount;
  const write = (minorUnits: bigint): string => Money.formatMinorUnits(minorUnits, currency);
  return {
    notRefundable: possible.ok ? NotRefundableMessage.UNSPECIFIED : notRefundableNumbers[possible.error],
    left: write(possible.ok ? possible.value.leftMinorUnits : 0n),
    refunded: write(order.refundedMinorUnits),
    pending: write(pendingMinorUnits),
    currency: currency.code,
    partial: possible.ok && possible.value.isPartial,
    decimals: possible.ok ? possible.value.decimals : currency.exponent,
    approvalAbove: limit?.amount ?? '',
    approvalRole: refundingRoleNumber(limit?.role),
  };
}

const notRefundableNumbers = {
  not_completed: NotRefundableMessage.NOT_COMPLETED,
  nothing_left: NotRefundableMessage.NOTHING_LEFT,
  wallet_cannot: NotRefundableMessage.BY_WALLET,
  account_gone: NotRefundableMessage.BY_WALLET,
  stray_payment: NotRefundableMessage.STRAY_PAYMENT,
} as const satisfies Record<NotRefundable, NotRefundableMessage>;

function decisionError(refusal: DecisionRefusal): Error {
  switch (refusal) {
    case 'suspended':
    case 'production_not_activated':
      return merchantRefusal(refusal);
    case 'recovering':
      return recovering();
    case 'same_person':
      return rpcError(
        'SECOND_PERSON_NEEDED',
        'the person who created the refund cannot approve it; another person has to',
      );
    case 'not_awaiting':
      return rpcError(
        'REFUND_NOT_AWAITING_APPROVAL',
        'the refund does not await approval; read it again to see its state',
      );
  }
}

const notFound = () => rpcError('REFUND_NOT_FOUND', 'the merchant has no such refund');

const parseKey = (request: { readonly merchantId: string; readonly refundId: string }) => ({
  merchantId: parseId('mer', request.merchantId, 'merchant_id'),
  refundId: parseId('rfd', request.refundId, 'refund_id'),
});
