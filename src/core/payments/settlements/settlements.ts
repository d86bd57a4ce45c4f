import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { rpcError } from '../../../contract/error-reason.ts';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import { requireAge, requireOperator } from '../../accounts/require-operator.ts';
import type { Helper } from '../../accounts/require-operator.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { UserRow } from '../../database/account-entities.ts';
import type { Database } from '../../database/database.ts';
import { SettlementRow, StrayPaymentRow } from '../../database/order-entities.ts';
import type { SettlementOutcome } from '../../database/order-entities.ts';
import type { OrderInFull, SettlementId } from '../../domain/order.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { proposalLifeMs } from '../../domain/settlement.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import type { Decision } from '../changes/order-change.ts';
import { lockOf, lockOfSettlement, readSubject, settle } from './settlement-subject.ts';
import type { Settled, SettledSubject, SubjectLock, SubjectRows } from './settlement-subject.ts';

/** A stored settlement, with stored ids. */
export type Settlement = Omit<SettlementRow, symbol>;

/** An outcome to propose, with public ids. */
export interface Proposal {
  readonly merchantId: PublicId<'mer'>;
  readonly subject: SettledSubject;
  readonly outcome: SettlementOutcome;
  readonly reason: string;
  readonly providerReference: string;
}

/** Outcomes that two operators decide. Each function is one transaction. They throw the errors of the contract. */
export interface Settlements {
  readonly propose: (proposal: Proposal, helper: Helper) => Promise<Settlement>;
  readonly confirm: (id: PublicId<'stl'>, helper: Helper) => Promise<Settlement>;
  readonly withdraw: (id: PublicId<'stl'>, helper: Helper) => Promise<Settlement>;
}

export interface SettlementsParts {
  readonly database: Database;
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly newId: NewId;
  readonly now: () => Date;
}

type Refusal = 'decided' | 'open' | 'not_open' | 'same_operator';

/** The steps of a change under the lock of a subject. `order` is undefined for a stray payment without an order. */
interface SubjectChange<Context, Decided extends Decision> {
  readonly read: (em: EntityManager) => Promise<Context>;
  readonly decide: (order: OrderInFull | undefined, context: Context, at: Date) => Result<Decided, Refusal>;
  readonly write: (em: EntityManager, decided: Decided, context: Context, at: Date) => Settlement;
}

export function createSettlements({ database, changes, newId, now }: SettlementsParts): Settlements {
  const findSettlement = async (id: PublicId<'stl'>): Promise<SettlementRow> => {
    const row = await database.fork().findOne(SettlementRow, { id: storedId('stl', id) });
    if (row === null) throw settlementNotFound(id);
    return row;
  };
  /** Decides and writes under the lock of the order, or of the stray payment that has no order. */
  const changeUnder = async <Context, Decided extends Decision>(
    lock: SubjectLock,
    requestId: string,
    { read, decide, write }: SubjectChange<Context, Decided>,
  ): Promise<Result<Settlement, Refusal | 'not_found'>> => {
    if ('order' in lock)
      return changes.change(lock.order, {
        requestId,
        read,
        decide,
        write: (em, decided, { context, now: at }) => write(em, decided, context, at),
      });
    return database.fork().transactional(async (em) => {
      await em.findOneOrFail(StrayPaymentRow, lock.strayPayment, { lockMode: LockMode.PESSIMISTIC_WRITE });
      const context = await read(em);
      const at = now();
      const decided = decide(undefined, context, at);
      return decided.ok ? ok(write(em, decided.value, context, at)) : decided;
    });
  };
  /** Changes a settlement under the lock of its subject. */
  const change = <Decided extends Decision>(
    settlement: SettlementRow,
    helper: Helper,
    steps: {
      readonly decide: (
        row: SettlementRow,
        rows: SubjectRows,
        order: Parameters<typeof settle>[0],
        at: Date,
      ) => Result<Decided, Refusal>;
      readonly write: (em: EntityManager, decided: Decided, row: SettlementRow, at: Date) => void;
      readonly check?: (em: EntityManager, row: SettlementRow) => Promise<void>;
    },
  ) =>
    changeUnder(lockOfSettlement(settlement), helper.by.requestId, {
      async read(em) {
        await requireOperator(em, helper);
        const key = { id: settlement.id };
        const row = await em.findOneOrFail(SettlementRow, key, { lockMode: LockMode.PESSIMISTIC_WRITE });
        if (row.status === 'PROPOSED') await steps.check?.(em, row);
        return { row, rows: await readSubject(em, row) };
      },
      decide: (order, { row, rows }, at) => steps.decide(row, rows, order, at),
      write(em, decided, { row }, at) {
        steps.write(em, decided, row, at);
        return { ...row };
      },
    });

  return {
    async propose({ merchantId, subject, ...proposal }, helper) {
      const lock = await lockOf(database.fork(), merchantId, subject);
      const proposed = await changeUnder(lock, helper.by.requestId, {
        async read(em) {
          const operator = await requireOperator(em, helper);
          const key = { merchantId: storedId('mer', merchantId), ...subjectColumns(subject) };
          // An expired proposal keeps its status, so the latest one counts.
          const open = await em.findOne(
            SettlementRow,
            { ...key, status: 'PROPOSED' },
            { orderBy: { id: 'desc' } },
          );
          const rows = await readSubject(em, { ...key, ...proposal });
          return { operator, open, rows, key };
        },
        decide(
          order,
          { operator, open, rows },
          at,
        ): Result<{ readonly changed: undefined; readonly isRepeat: boolean }, Refusal> {
          if (operator !== undefined) requireAge(operator, at);
          if (open !== null && open.expiresAt > at) {
            const isRepeat =
              open.proposedBy === helper.by.actor &&
              open.outcome === proposal.outcome &&
              open.reason === proposal.reason &&
              open.providerReference === proposal.providerReference;
            return isRepeat ? ok({ changed: undefined, isRepeat }) : err('open');
          }
          const possible = settle(order, rows, { ...proposal, id: 'stl_proposed' }, at);
          return possible.ok ? ok({ changed: undefined, isRepeat: false }) : possible;
        },
        write(em, { isRepeat }, { open, key, rows }, at) {
          if (isRepeat && open !== null) return { ...open };
          const id = newId('stl', at);
          const row = em.create(SettlementRow, {
            id: storedId('stl', id),
            environment: rows.row.environment,
            orderId: rows.row.orderId ?? null,
            ...key,
            ...proposal,
            status: 'PROPOSED',
            proposedBy: helper.by.actor,
            proposedByUserId: helper.userId === undefined ? null : storedId('usr', helper.userId),
            createdAt: at,
            expiresAt: new Date(at.getTime() + proposalLifeMs),
          });
          recordAudit(em, newId, at, helper.by, {
            action: 'settlement.propose',
            merchantId,
            targetId: id,
            details: detailsOf(subject.id, proposal),
          });
          return { ...row };
        },
      });
      if (proposed.ok) return proposed.value;
      throw proposed.error === 'not_found' ? subjectNotFound(subject) : refusalOf(proposed.error);
    },

    async confirm(id, helper) {
      const settled = await change(await findSettlement(id), helper, {
        async check(em, row) {
          const confirmer = await requireOperator(em, helper);
          const proposer =
            row.proposedByUserId == null ? undefined : await em.findOne(UserRow, row.proposedByUserId);
          if (proposer?.id === confirmer?.id) throw refusalOf('same_operator');
          for (const operator of [proposer, confirmer]) if (operator != null) requireAge(operator, now());
        },
        decide(row, rows, order, at): Result<Settled & { readonly isRepeat: boolean }, Refusal> {
          if (row.status === 'CONFIRMED' && row.decidedBy === helper.by.actor)
            return ok({ changed: undefined, write: () => undefined, isRepeat: true });
          if (row.status !== 'PROPOSED' || row.expiresAt <= at) return err('not_open');
          const decided = settle(order, rows, { ...row, id: publicId('stl', row.id) }, at);
          return decided.ok ? ok({ ...decided.value, isRepeat: false }) : decided;
        },
        write(em, { write, isRepeat }, row, at) {
          if (isRepeat) return;
          write(em);
          em.assign(row, { status: 'CONFIRMED', decidedBy: helper.by.actor, decidedAt: at });
          recordAudit(em, newId, at, helper.by, {
            action: 'settlement.confirm',
            merchantId: publicId('mer', row.merchantId),
            targetId: id,
            details: { proposed_by: row.proposedBy, ...detailsOf(subjectIdOf(row), row) },
          });
        },
      });
      if (settled.ok) return settled.value;
      throw settled.error === 'not_found' ? settlementNotFound(id) : refusalOf(settled.error);
    },

    async withdraw(id, helper) {
      const withdrawn = await change(await findSettlement(id), helper, {
        decide: (row): Result<{ readonly changed: undefined }, Refusal> =>
          row.status === 'CONFIRMED' ? err('not_open') : ok({ changed: undefined }),
        write(em, _decided, row, at) {
          if (row.status !== 'PROPOSED') return;
          em.assign(row, { status: 'WITHDRAWN', decidedBy: helper.by.actor, decidedAt: at });
          recordAudit(em, newId, at, helper.by, {
            action: 'settlement.withdraw',
            merchantId: publicId('mer', row.merchantId),
            targetId: id,
            details: detailsOf(subjectIdOf(row), row),
          });
        },
      });
      if (withdrawn.ok) return withdrawn.value;
      throw withdrawn.error === 'not_found' ? settlementNotFound(id) : refusalOf(withdrawn.error);
    },
  };
}

const detailsOf = (
  subject: string,
  { outcome, reason, providerReference }: Pick<Proposal, 'outcome' | 'reason' | 'providerReference'>,
) => ({ subject, outcome: outcome.toLowerCase(), reason, provider_reference: providerReference });

const subjectColumns = ({ kind, id }: SettledSubject) => ({
  paymentAttemptId: kind === 'attempt' ? storedId('pat', id) : null,
  strayPaymentId: kind === 'stray' ? storedId('stp', id) : null,
  refundId: kind === 'refund' ? storedId('rfd', id) : null,
});

/** The public id of what a settlement settles. */
function subjectIdOf({
  paymentAttemptId,
  strayPaymentId,
  refundId,
}: Pick<Settlement, 'paymentAttemptId' | 'strayPaymentId' | 'refundId'>): string {
  if (paymentAttemptId != null) return publicId('pat', paymentAttemptId);
  if (strayPaymentId != null) return publicId('stp', strayPaymentId);
  return refundId == null ? '' : publicId('rfd', refundId);
}

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
  switch (refusal) {
    case 'decided':
      return rpcError(
        'NOT_UNSETTLED',
        'this cannot be settled: the wallet has decided it, or may still receive its request; read its state again',
      );
    case 'open':
      return rpcError(
        'SETTLEMENT_OPEN',
        'another proposal for this is open; an operator must confirm or withdraw it first',
      );
    case 'not_open':
      return rpcError(
        'SETTLEMENT_NOT_OPEN',
        'the proposal was confirmed, was withdrawn or has expired; read it again, and propose anew if needed',
      );
    case 'same_operator':
      return rpcError(
        'SECOND_OPERATOR_NEEDED',
        'another operator has to confirm this; all holders of an operator service token count as one operator',
      );
  }
}
