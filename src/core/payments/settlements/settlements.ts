import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { rpcError } from '../../../contract/error-reason.ts';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import { isStillOperator, requireAge, requireOperator } from '../../accounts/require-operator.ts';
import type { ActingOperator } from '../../accounts/require-operator.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { UserRow } from '../../database/account-entities.ts';
import type { Database } from '../../database/database.ts';
import { eraseAgain, eraseAgainByMoney } from '../../database/erase-again.sql.ts';
import { SettlementRow, StrayPaymentRow } from '../../database/order-entities.ts';
import { recovering } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import type { SettlementOutcome } from '../../database/order-entities.ts';
import { isErased } from '../../domain/erased.ts';
import type { OrderInFull, SettlementId } from '../../domain/order.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { proposalLifeMs } from '../../domain/settlement.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { settledId } from '../../rpc/settlement-message.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import type { Decision } from '../changes/order-change.ts';
import { lockOf, lockOfSettlement, readSubject, settleSubject } from './settlement-subject.ts';
import type {
  LockedSubject,
  Settled,
  SettledSubject,
  SubjectLock,
  WrongReference,
} from './settlement-subject.ts';

/** A stored settlement, with stored ids. */
export type Settlement = Omit<SettlementRow, symbol>;

/** The proposal, without its subject. */
interface ProposedTerms {
  readonly outcome: SettlementOutcome;
  readonly reason: string;
  readonly providerReference: string;
}

/** An outcome to propose, with public ids. */
export interface Proposal extends ProposedTerms {
  readonly merchantId: PublicId<'mer'>;
  readonly subject: SettledSubject;
}

/** Outcomes that two operators decide. Each function is one transaction. They throw the errors of the contract. */
export interface Settlements {
  readonly propose: (proposal: Proposal, acting: ActingOperator) => Promise<Settlement>;
  readonly confirm: (id: PublicId<'stl'>, acting: ActingOperator) => Promise<Settlement>;
  readonly withdraw: (id: PublicId<'stl'>, acting: ActingOperator) => Promise<Settlement>;
}

export interface SettlementsParts {
  readonly database: Database;
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly newId: NewId;
  readonly wallets: readonly Wallet[];
  readonly now: () => Date;
}

export function createSettlements(parts: SettlementsParts): Settlements {
  return {
    propose: (proposal, acting) => proposeSettlement(parts, proposal, acting),
    confirm: (id, acting) => confirmSettlement(parts, id, acting),
    withdraw: (id, acting) => withdrawSettlement(parts, id, acting),
  };
}

type Refusal = WrongReference | 'decided' | 'leased' | 'open' | 'not_open' | 'recovering';

async function proposeSettlement(
  parts: SettlementsParts,
  { merchantId, subject, ...terms }: Proposal,
  acting: ActingOperator,
): Promise<Settlement> {
  const key = { merchantId: storedId('mer', merchantId), ...subjectColumns(subject) };
  const lock = await lockOf(parts.database.fork(), merchantId, subject);
  const proposed = await changeUnder(parts, lock, acting.by.requestId, {
    async read(em) {
      const operator = await requireOperator(em, acting);
      // An expired proposal keeps its status, so the latest one counts.
      const latest = await em.findOne(
        SettlementRow,
        { ...key, status: 'PROPOSED' },
        { orderBy: { id: 'desc' } },
      );
      return { operator, latest, locked: await readSubject(em, parts.wallets, { ...key, ...terms }) };
    },
    decide(
      order,
      { operator, latest, locked },
      at,
    ): Result<{ readonly changed: undefined; readonly repeated: SettlementRow | undefined }, Refusal> {
      if (operator !== undefined) requireAge(operator, at);
      if (latest !== null && latest.expiresAt > at)
        return isProposedBy(latest, terms, acting)
          ? ok({ changed: undefined, repeated: latest })
          : err('open');
      const possible = settleSubject(order, locked, { ...terms, id: 'stl_proposed' }, at);
      // A lease ends before another operator has confirmed the proposal, or the confirmation is refused.
      if (!possible.ok && possible.error !== 'leased') return possible;
      return ok({ changed: undefined, repeated: undefined });
    },
    async write(em, { repeated }, { locked }, at, order) {
      if (repeated !== undefined) return { ...repeated };
      const settled = locked.row;
      const id = parts.newId('stl', at);
      const row = em.create(SettlementRow, {
        id: storedId('stl', id),
        environment: settled.environment,
        orderId: settled.orderId ?? null,
        ...key,
        ...terms,
        status: 'PROPOSED',
        proposedBy: acting.by.actor,
        proposedByUserId: acting.userId === undefined ? null : storedId('usr', acting.userId),
        createdAt: at,
        expiresAt: new Date(at.getTime() + proposalLifeMs),
      });
      recordAudit(em, parts.newId, at, acting.by, {
        action: 'settlement.propose',
        merchantId,
        targetId: id,
        details: detailsOf(subject.id, terms),
      });
      if (order !== undefined) {
        if (isErased(order)) await eraseAgain(em, order);
      } else if (locked.kind === 'stray') await eraseAgainByMoney(em, locked.row);
      return { ...row };
    },
  });
  if (proposed.ok) return proposed.value;
  throw proposed.error === 'not_found' ? subjectNotFound(subject) : refusalOf(proposed.error);
}

const isProposedBy = (row: SettlementRow, terms: ProposedTerms, { by }: ActingOperator): boolean =>
  row.proposedBy === by.actor &&
  row.outcome === terms.outcome &&
  row.reason === terms.reason &&
  row.providerReference === terms.providerReference;

const confirmSettlement = (
  parts: SettlementsParts,
  id: PublicId<'stl'>,
  acting: ActingOperator,
): Promise<Settlement> =>
  changeSettlement(parts, id, acting, {
    check: (em, row, confirmer) => requireSecondOperator(em, row, confirmer, parts.now()),
    decide(
      { row, locked, takesPayments },
      order,
      at,
    ): Result<Settled | { readonly changed: undefined; readonly write?: undefined }, Refusal> {
      // This operator has confirmed it before.
      if (row.status === 'CONFIRMED' && row.decidedBy === acting.by.actor) return ok({ changed: undefined });
      if (row.status !== 'PROPOSED' || row.expiresAt <= at) return err('not_open');
      // The lost time may have settled it already, or the wallet may have decided it.
      if (!takesPayments) return err('recovering');
      return settleSubject(order, locked, { ...row, id: publicId('stl', row.id) }, at);
    },
    async write(em, { write }, row, at) {
      if (write === undefined) return;
      write(em);
      em.assign(row, { status: 'CONFIRMED', decidedBy: acting.by.actor, decidedAt: at });
      recordAudit(em, parts.newId, at, acting.by, {
        action: 'settlement.confirm',
        merchantId: publicId('mer', row.merchantId),
        targetId: id,
        details: { proposed_by: row.proposedBy, ...detailsOf(settledId(row), row) },
      });
    },
  });

/** @throws SECOND_OPERATOR_NEEDED, SETTLEMENT_NOT_OPEN, OPERATOR_TOO_NEW */
async function requireSecondOperator(
  em: EntityManager,
  { proposedByUserId }: SettlementRow,
  confirmer: UserRow | undefined,
  at: Date,
): Promise<void> {
  const proposer = proposedByUserId == null ? undefined : await em.findOne(UserRow, proposedByUserId);
  if (proposer?.id === confirmer?.id)
    throw rpcError(
      'SECOND_OPERATOR_NEEDED',
      'another operator has to confirm this; all holders of an operator service token count as one operator',
    );
  if (proposer != null && !isStillOperator(proposer))
    throw rpcError(
      'SETTLEMENT_NOT_OPEN',
      'the operator who proposed this was disabled; withdraw the proposal, and propose again if needed',
    );
  for (const operator of [proposer, confirmer]) if (operator != null) requireAge(operator, at);
}

const withdrawSettlement = (
  parts: SettlementsParts,
  id: PublicId<'stl'>,
  acting: ActingOperator,
): Promise<Settlement> =>
  changeSettlement(parts, id, acting, {
    decide: ({ row }): Result<{ readonly changed: undefined }, Refusal> =>
      row.status === 'CONFIRMED' ? err('not_open') : ok({ changed: undefined }),
    write(em, _decided, row, at) {
      if (row.status !== 'PROPOSED') return;
      em.assign(row, { status: 'WITHDRAWN', decidedBy: acting.by.actor, decidedAt: at });
      recordAudit(em, parts.newId, at, acting.by, {
        action: 'settlement.withdraw',
        merchantId: publicId('mer', row.merchantId),
        targetId: id,
        details: detailsOf(settledId(row), row),
      });
    },
  });

/** A settlement under the lock of its subject. */
interface LockedSettlement {
  readonly row: SettlementRow;
  readonly locked: LockedSubject;
  /** False while the gateway recovers from a restore. */
  readonly takesPayments: boolean;
}

/** The steps of a change of a settlement. */
interface SettlementChange<Decided extends Decision> {
  /** Checks a proposal that was not decided before. */
  readonly check?: (em: EntityManager, row: SettlementRow, operator: UserRow | undefined) => Promise<void>;
  readonly decide: (
    settlement: LockedSettlement,
    order: OrderInFull | undefined,
    at: Date,
  ) => Result<Decided, Refusal>;
  readonly write: (em: EntityManager, decided: Decided, row: SettlementRow, at: Date) => void | Promise<void>;
}

async function changeSettlement<Decided extends Decision>(
  parts: SettlementsParts,
  id: PublicId<'stl'>,
  acting: ActingOperator,
  steps: SettlementChange<Decided>,
): Promise<Settlement> {
  const key = { id: storedId('stl', id) };
  const found = await parts.database.fork().findOne(SettlementRow, key);
  if (found === null) throw settlementNotFound(id);
  const changed = await changeUnder(parts, lockOfSettlement(found), acting.by.requestId, {
    async read(em): Promise<LockedSettlement> {
      const operator = await requireOperator(em, acting);
      const row = await em.findOneOrFail(SettlementRow, key, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (row.status === 'PROPOSED') await steps.check?.(em, row, operator);
      const takesPayments = (await readTakesPayments(em)).of(row.environment, row.merchantId);
      return { row, locked: await readSubject(em, parts.wallets, row), takesPayments };
    },
    decide: (order, settlement, at) => steps.decide(settlement, order, at),
    async write(em, decided, { row }, at) {
      await steps.write(em, decided, row, at);
      return { ...row };
    },
  });
  if (changed.ok) return changed.value;
  throw changed.error === 'not_found' ? settlementNotFound(id) : refusalOf(changed.error);
}

/** The steps of a change under the lock of a subject. `order` is undefined for a stray payment without an order. */
interface SubjectChange<Context, Decided extends Decision> {
  readonly read: (em: EntityManager) => Promise<Context>;
  readonly decide: (order: OrderInFull | undefined, context: Context, at: Date) => Result<Decided, Refusal>;
  readonly write: (
    em: EntityManager,
    decided: Decided,
    context: Context,
    at: Date,
    order: OrderInFull | undefined,
  ) => Settlement | Promise<Settlement>;
}

/** Decides and writes under the lock of the order, or of the stray payment that has no order. */
async function changeUnder<Context, Decided extends Decision>(
  { database, changes, now }: SettlementsParts,
  lock: SubjectLock,
  requestId: string,
  { read, decide, write }: SubjectChange<Context, Decided>,
): Promise<Result<Settlement, Refusal | 'not_found'>> {
  if ('order' in lock)
    return changes.change(lock.order, {
      requestId,
      read,
      decide,
      write: (em, decided, { context, order, now: at }) => write(em, decided, context, at, order),
    });
  return database.fork().transactional(async (em) => {
    await em.findOneOrFail(StrayPaymentRow, lock.strayPayment, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const context = await read(em);
    const at = now();
    const decided = decide(undefined, context, at);
    return decided.ok ? ok(await write(em, decided.value, context, at, undefined)) : decided;
  });
}

const detailsOf = (subject: string, { outcome, reason, providerReference }: ProposedTerms) => ({
  subject,
  outcome: outcome.toLowerCase(),
  reason,
  provider_reference: providerReference,
});

const subjectColumns = ({ kind, id }: SettledSubject) => ({
  paymentAttemptId: kind === 'attempt' ? storedId('pat', id) : null,
  strayPaymentId: kind === 'stray' ? storedId('stp', id) : null,
  refundId: kind === 'refund' ? storedId('rfd', id) : null,
});

const settlementNotFound = (id: SettlementId) =>
  rpcError('SETTLEMENT_NOT_FOUND', `there is no settlement ${id}`);

const subjectNotFound = ({ kind, id }: SettledSubject) =>
  rpcError(
    {
      attempt: 'PAYMENT_ATTEMPT_NOT_FOUND' as const,
      stray: 'STRAY_PAYMENT_NOT_FOUND' as const,
      refund: 'REFUND_NOT_FOUND' as const,
    }[kind],
    `the merchant has no ${id}`,
  );

function refusalOf(refusal: Refusal): Error {
  if (typeof refusal === 'object')
    return invalidFields([{ field: 'provider_reference', issue: refusal.wrongReference }]);
  switch (refusal) {
    case 'decided':
      return rpcError(
        'NOT_UNSETTLED',
        'this cannot be settled: the wallet has decided it, or may still receive its request; read its state again',
      );
    case 'leased':
      return rpcError(
        'WALLET_CALL_RUNNING',
        'a worker is asking the wallet about this money now; try again in a minute, and read its state first',
      );
    case 'recovering':
      return recovering();
    case 'open':
      return rpcError(
        'SETTLEMENT_OPEN',
        'another proposal for this is open; an operator must confirm or withdraw it first',
      );
    case 'not_open':
      return rpcError(
        'SETTLEMENT_NOT_OPEN',
        'the proposal was confirmed, was withdrawn or has expired; read it again, and propose again if needed',
      );
  }
}
