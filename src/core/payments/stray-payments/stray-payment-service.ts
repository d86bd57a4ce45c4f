import { StrayPaymentService } from '../../../gen/gatehouse/v1/stray_payment_service_pb.js';
import type {
  ListStrayPaymentsRequest,
  RecordReversalOutcomeRequest,
} from '../../../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { annotate, markUneventful } from '../../../platform/rpc/call-context.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import { rpcService } from '../../../contract/rpc-service.ts';
import type { RpcService } from '../../../platform/rpc/rpc-service.ts';
import { actorOf } from '../../../platform/rpc/actor.ts';
import { publicId } from '../../../contract/public-id.ts';
import { combine } from '../../domain/combine.ts';
import { err, ok } from '../../domain/result.ts';
import { parseEnumWords } from '../../rpc/enum-words.ts';
import { parseOptionalEnvironment } from '../../rpc/environment.ts';
import { nothingDueFor, parseLeaseRequest } from '../../rpc/lease-fields.ts';
import { pageOf } from '../../../platform/rpc/page-token.ts';
import { parsePageSize, parsePageToken } from '../../rpc/page-token.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../../rpc/request-fields.ts';
import { strayPaymentMessage, strayPaymentStatuses as statuses } from '../../rpc/stray-payment-message.ts';
import { parseReversalOutcome } from '../refunds/refund-requests.ts';
import type { ListStrayPayments } from './list-stray-payments.ts';
import { reversalName } from './reversals.ts';
import type { Reversals } from './reversals.ts';

export interface StrayPaymentServiceParts {
  readonly listStrayPayments: ListStrayPayments;
  /** Limits the lists that are read at a time, by merchant and environment. */
  readonly searchFairly: FairCalls;
  readonly reversals: Reversals;
}

/** gatehouse.v1.StrayPaymentService. */
export function strayPaymentService(parts: StrayPaymentServiceParts): RpcService {
  const { listStrayPayments, searchFairly, reversals } = parts;
  return rpcService(
    StrayPaymentService,
    {
      async listStrayPayments(request, { signal }) {
        const { filter, key } = parseFilter(request);
        const owner = `${filter.environment ?? ''} ${filter.merchantId ?? ''}`;
        const listed = await searchFairly({ owner }, signal, () =>
          listStrayPayments({ ...filter, limit: filter.limit + 1 }),
        );
        const page = pageOf(
          listed.map((stray) => ({ id: publicId('stp', stray.id), stray })),
          filter.limit,
          key,
        );
        return {
          strayPayments: page.items.map(({ stray }) => strayPaymentMessage(stray)),
          nextPageToken: page.nextPageToken,
        };
      },
      async leaseReversals(request, context) {
        const asked = parseLeaseRequest(request, 'max_reversals', request.maxReversals);
        const { items: leased, nothingDueForMs } = await reversals.lease(asked);
        annotate(context, { items: leased.length });
        if (leased.length === 0) markUneventful(context);
        const leasedReversals = leased.map(
          ({ stray, leaseId, sentBefore, paymentReference, walletAccountId }) => ({
            strayPayment: strayPaymentMessage(stray),
            leaseId,
            sentBefore,
            providerReference: stray.providerReference ?? '',
            reversalId: reversalName(stray),
            callbackNotes: stray.callbackNotes,
            paymentReference,
            walletAccountId: walletAccountId === null ? '' : publicId('wac', walletAccountId),
          }),
        );
        return { reversals: leasedReversals, ...nothingDueFor(nothingDueForMs) };
      },
      async recordReversalOutcome(request, context) {
        const { leaseId, outcome, ...key } = parseReport(request);
        annotate(context, { stray_payment_id: key.strayPaymentId, outcome: outcome.type });
        const recorded = await reversals.record(key, leaseId, outcome, request.exchanges);
        if (recorded.ok) return { strayPayment: strayPaymentMessage(recorded.value) };
        if (recorded.error === 'not_found') throw notFound(key.strayPaymentId);
        throw rpcError('LEASE_LOST', 'the lease has expired, and another worker holds the reversal');
      },
      async hastenReversal(request, context) {
        const key = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            reversalId: parseId('stp', request.reversalId, 'reversal_id'),
          }),
        );
        const { exchange, callbackNote: note } = request;
        const hastened = await reversals.hasten(key, { exchange, note }, context.signal);
        if (hastened === undefined) throw notFound(key.reversalId);
        annotate(context, { stray_payment_id: publicId('stp', hastened.id) });
        return { strayPayment: strayPaymentMessage(hastened) };
      },
      async retryReversal(request, context) {
        const key = valuesOrThrow(combine(parseKey(request)));
        annotate(context, { stray_payment_id: key.strayPaymentId });
        const retried = await reversals.retry(key, actorOf(context));
        if (retried.ok) return { strayPayment: strayPaymentMessage(retried.value) };
        if (retried.error === 'not_found') throw notFound(key.strayPaymentId);
        throw rpcError(
          'REVERSAL_NOT_REFUSED',
          `only a refused reversal can be tried again; ${notRefused[retried.error]}`,
        );
      },
    },
    {
      listStrayPayments: ['dashboard', 'operator', 'reader'],
      leaseReversals: ['wallets'],
      recordReversalOutcome: ['wallets'],
      hastenReversal: ['wallets'],
      retryReversal: ['dashboard', 'operator'],
    },
  );
}

const notFound = (id: string) =>
  rpcError('STRAY_PAYMENT_NOT_FOUND', `the merchant has no stray payment ${id}`);

const notRefused = {
  under_way: 'the wallet has not decided this reversal, and a second one could return the money twice',
  reversed: 'this reversal has succeeded',
  not_returnable:
    'the wallet reported no amount that can be returned: ask the wallet what it took, and settle the stray payment',
} as const;

const parseKey = (request: { readonly merchantId: string; readonly strayPaymentId: string }) => ({
  merchantId: parseId('mer', request.merchantId, 'merchant_id'),
  strayPaymentId: parseId('stp', request.strayPaymentId, 'stray_payment_id'),
});

function parseReport(request: RecordReversalOutcomeRequest) {
  return valuesOrThrow(
    combine({
      ...parseKey(request),
      leaseId:
        request.leaseId === '' ? err({ field: 'lease_id', issue: 'is required' }) : ok(request.leaseId),
      outcome: parseReversalOutcome(request),
    }),
  );
}

function parseFilter(request: ListStrayPaymentsRequest) {
  const key = [request.merchantId, request.orderId, request.environment, request.statuses];
  const filter = valuesOrThrow(
    combine({
      merchantId: parseOptionalId('mer', request.merchantId, 'merchant_id'),
      orderId: parseOptionalId('ord', request.orderId, 'order_id'),
      environment: parseOptionalEnvironment(request.environment),
      statuses: parseEnumWords(statuses, request.statuses, 'statuses'),
      beforeId: parsePageToken(request.pageToken, 'stp', key),
      limit: parsePageSize(request.pageSize),
    }),
  );
  return { filter, key };
}
