import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { rpcService } from '../../../contract/rpc-service.ts';
import { isPublicId, publicId, storedId, uuidOfId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import { SettlementService, UnsettledSchema } from '../../../gen/gatehouse/v1/settlement_service_pb.js';
import type {
  ProposeSettlementRequest,
  Settlement as SettlementMessage,
} from '../../../gen/gatehouse/v1/settlement_service_pb.js';
import { annotate } from '../../../platform/rpc/call-context.ts';
import { pageOf, pageTokenIssue, readPageToken } from '../../../platform/rpc/page-token.ts';
import type { RpcService } from '../../../platform/rpc/rpc-service.ts';
import { actingOperatorOf } from '../../accounts/acting-operator.ts';
import type { Database } from '../../database/database.ts';
import { SettlementRow } from '../../database/order-entities.ts';
import type { SettlementOutcome } from '../../database/order-entities.ts';
import { combine } from '../../domain/combine.ts';
import { Currency } from '../../domain/currency.ts';
import type { Issue } from '../../domain/issue.ts';
import { Money } from '../../domain/money.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { parseText } from '../../domain/text.ts';
import { parseEnumWords } from '../../rpc/enum-words.ts';
import { environmentNumbers } from '../../rpc/environment.ts';
import { parsePageSize, parsePageToken } from '../../rpc/page-token.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../../rpc/request-fields.ts';
import { settlementMessage, settlementOutcomes, settlementStates } from '../../rpc/settlement-message.ts';
import type { SettlementState } from '../../rpc/settlement-message.ts';
import type { SettledSubject } from './settlement-subject.ts';
import type { Proposal, Settlements } from './settlements.ts';
import { readUnsettled } from './unsettled.sql.ts';
import type { UnsettledMoney, UnsettledPosition } from './unsettled.sql.ts';

const reasonLength = 500;
const referenceLength = 100;

export interface SettlementServiceParts {
  readonly database: Database;
  readonly settlements: Settlements;
  readonly now: () => Date;
}

/** gatehouse.v1.SettlementService. */
export function settlementService({ database, settlements, now }: SettlementServiceParts): RpcService {
  return rpcService(
    SettlementService,
    {
      async listUnsettled(request) {
        const key = [request.merchantId];
        const { merchantId, limit, after } = valuesOrThrow(
          combine({
            merchantId: parseOptionalId('mer', request.merchantId, 'merchant_id'),
            limit: parsePageSize(request.pageSize),
            after: parsePosition(request.pageToken, key),
          }),
        );
        const stored = merchantId === undefined ? undefined : storedId('mer', merchantId);
        const filter = { merchantId: stored, limit: limit + 1, after };
        const { items: found, counts } = await readUnsettled(database.pool, filter);
        const positioned = found.map((item) => ({ id: positionOf(item), item }));
        const { items, nextPageToken } = pageOf(positioned, limit, key);
        const proposals = await openProposals(items.map(({ item }) => item));
        return {
          unsettled: items.map(({ item }) => unsettledMessage(item, proposals.get(item.id))),
          totalCount: counts.attempt + counts.stray + counts.refund,
          nextPageToken,
        };
      },
      async proposeSettlement(request, context) {
        const proposal = parseProposal(request);
        annotate(context, { merchant_id: proposal.merchantId, subject: proposal.subject.id });
        const proposed = await settlements.propose(proposal, actingOperatorOf(context));
        return { settlement: settlementMessage(proposed, now()) };
      },
      async confirmSettlement({ settlementId }, context) {
        const id = valuesOrThrow(parseId('stl', settlementId, 'settlement_id'));
        annotate(context, { settlement_id: id });
        return {
          settlement: settlementMessage(await settlements.confirm(id, actingOperatorOf(context)), now()),
        };
      },
      async withdrawSettlement({ settlementId }, context) {
        const id = valuesOrThrow(parseId('stl', settlementId, 'settlement_id'));
        annotate(context, { settlement_id: id });
        return {
          settlement: settlementMessage(await settlements.withdraw(id, actingOperatorOf(context)), now()),
        };
      },
      async listSettlements(request) {
        const key = [request.merchantId, request.orderId, request.statuses];
        const filter = valuesOrThrow(
          combine({
            merchantId: parseOptionalId('mer', request.merchantId, 'merchant_id'),
            orderId: parseOptionalId('ord', request.orderId, 'order_id'),
            states: parseEnumWords(settlementStates, request.statuses, 'statuses'),
            beforeId: parsePageToken(request.pageToken, 'stl', key),
            limit: parsePageSize(request.pageSize),
          }),
        );
        const rows = await list(filter);
        const { items, nextPageToken } = pageOf(
          rows.map((row) => ({ id: publicId('stl', row.id), row })),
          filter.limit,
          key,
        );
        const at = now();
        return { settlements: items.map(({ row }) => settlementMessage(row, at)), nextPageToken };
      },
    },
    {
      listUnsettled: ['dashboard', 'operator', 'reader'],
      proposeSettlement: ['dashboard', 'operator'],
      confirmSettlement: ['dashboard', 'operator'],
      withdrawSettlement: ['dashboard', 'operator'],
      listSettlements: ['dashboard', 'operator', 'reader'],
    },
  );

  async function list({ merchantId, orderId, states, beforeId, limit }: SettlementFilter) {
    const at = now();
    const rowsIn = {
      PROPOSED: { status: 'PROPOSED' as const, expiresAt: { $gt: at } },
      EXPIRED: { status: 'PROPOSED' as const, expiresAt: { $lte: at } },
      CONFIRMED: { status: 'CONFIRMED' as const },
      WITHDRAWN: { status: 'WITHDRAWN' as const },
    };
    const where = {
      ...(merchantId === undefined ? {} : { merchantId: storedId('mer', merchantId) }),
      ...(orderId === undefined ? {} : { orderId: storedId('ord', orderId) }),
      ...(beforeId === undefined ? {} : { id: { $lt: storedId('stl', beforeId) } }),
      ...(states.length === 0 ? {} : { $or: states.map((state) => rowsIn[state]) }),
    };
    const orderBy = { id: 'desc' } as const;
    return database.fork().find(SettlementRow, where, { orderBy, limit: limit + 1 });
  }

  /** The proposals that wait for another operator, by the public id of their subject. */
  async function openProposals(items: readonly UnsettledMoney[]): Promise<Map<string, SettlementMessage>> {
    if (items.length === 0) return new Map();
    const at = now();
    const orderIds = items.flatMap(({ orderId }) => (orderId === undefined ? [] : storedId('ord', orderId)));
    const withoutOrder = items.flatMap(({ orderId, id }) =>
      orderId === undefined && isPublicId('stp', id) ? storedId('stp', id) : [],
    );
    const rows = await database.fork().find(SettlementRow, {
      $or: [{ orderId: { $in: orderIds } }, { strayPaymentId: { $in: withoutOrder } }],
      status: 'PROPOSED',
      expiresAt: { $gt: at },
    });
    return new Map(
      rows.map((row) => {
        const message = settlementMessage(row, at);
        return [message.subject.value ?? '', message];
      }),
    );
  }
}

/** The position of an item in the list: the time since which it waits, and its id. */
const positionOf = ({ since, id }: UnsettledMoney): string => `${since.getTime()}/${id}`;

function parsePosition(token: string, filter: unknown): Result<UnsettledPosition | undefined, Issue> {
  if (token === '') return ok(undefined);
  const [, since, id = ''] = /^([0-9]{1,15})\/(.*)$/.exec(readPageToken(token, filter) ?? '') ?? [];
  const uuid = uuidOfId(id);
  return uuid === undefined ? err(pageTokenIssue) : ok({ since: new Date(Number(since)), id: uuid });
}

interface SettlementFilter {
  readonly merchantId: PublicId<'mer'> | undefined;
  readonly orderId: PublicId<'ord'> | undefined;
  readonly states: readonly SettlementState[];
  readonly beforeId: PublicId<'stl'> | undefined;
  readonly limit: number;
}

function unsettledMessage(item: UnsettledMoney, proposal: SettlementMessage | undefined) {
  const { amount, kind, id } = item;
  const subject = {
    attempt: { case: 'paymentAttemptId', value: id } as const,
    stray: { case: 'strayPaymentId', value: id } as const,
    refund: { case: 'refundId', value: id } as const,
  }[kind];
  return create(UnsettledSchema, {
    merchantId: item.merchantId,
    environment: environmentNumbers[item.environment],
    orderId: item.orderId ?? '',
    subject,
    paymentOption: item.paymentOption,
    amount:
      'text' in amount ? amount.text : Money.formatMinorUnits(amount.minorUnits, Currency.of(item.currency)),
    currency: item.currency,
    sinceTime: timestampFromDate(item.since),
    detail: item.detail,
    ...(proposal === undefined ? {} : { proposal }),
  });
}

/** @throws INVALID_FIELDS */
const parseProposal = (request: ProposeSettlementRequest): Proposal =>
  valuesOrThrow(
    combine({
      merchantId: parseId('mer', request.merchantId, 'merchant_id'),
      subject: parseSubject(request.subject),
      outcome: parseOutcome(request),
      reason: parseText(request.reason, 'reason', { max: reasonLength, required: true }),
      providerReference: parseText(request.providerReference.trim(), 'provider_reference', {
        max: referenceLength,
        required: true,
      }),
    }),
  );

function parseSubject(subject: ProposeSettlementRequest['subject']): Result<SettledSubject, Issue> {
  switch (subject.case) {
    case 'paymentAttemptId': {
      const id = parseId('pat', subject.value, 'payment_attempt_id');
      return id.ok ? ok({ kind: 'attempt', id: id.value }) : id;
    }
    case 'strayPaymentId': {
      const id = parseId('stp', subject.value, 'stray_payment_id');
      return id.ok ? ok({ kind: 'stray', id: id.value }) : id;
    }
    case 'refundId': {
      const id = parseId('rfd', subject.value, 'refund_id');
      return id.ok ? ok({ kind: 'refund', id: id.value }) : id;
    }
    case undefined:
      return err({
        field: 'payment_attempt_id',
        issue: 'is required, unless stray_payment_id or refund_id is given',
      });
  }
}

/** The outcomes of each subject. */
const outcomesOf = {
  paymentAttemptId: ['PAID', 'NOT_PAID'],
  strayPaymentId: ['RETURNED'],
  refundId: ['RETURNED', 'NOT_RETURNED'],
} as const satisfies Record<string, readonly SettlementOutcome[]>;

function parseOutcome({ outcome, subject }: ProposeSettlementRequest): Result<SettlementOutcome, Issue> {
  const all = Object.keys(settlementOutcomes) as SettlementOutcome[];
  const possible: readonly SettlementOutcome[] = subject.case === undefined ? all : outcomesOf[subject.case];
  const found = possible.find((word) => settlementOutcomes[word] === outcome);
  return found === undefined
    ? err({ field: 'outcome', issue: `must be ${possible.join(' or ')}${reasonForOneOutcome(subject)}` })
    : ok(found);
}

/** Why a stray payment has one outcome, and what to do instead of another. */
const reasonForOneOutcome = ({ case: kind }: ProposeSettlementRequest['subject']): string =>
  kind === 'strayPaymentId'
    ? ': stray money belongs to no order, so nobody can keep it. Return it outside of the wallet first. A payer who still wants to buy pays a new order'
    : '';
