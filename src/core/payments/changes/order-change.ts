import type { EntityManager } from '@mikro-orm/postgresql';
import type { DueWork } from '../../../contract/due-work.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import type { PaymentAttemptValues } from '../../database/order-rows.ts';
import type { Changed, OrderInFull } from '../../domain/order.ts';
import type { StoredPromptKind } from '../../domain/prompt-allowance.ts';
import type { Result } from '../../domain/result.ts';

/** The result of a decision about an order. */
export interface Decision {
  /** The changed order; undefined when the order does not change. */
  readonly changed: Changed | undefined;
  /** The kind of a new attempt whose phone the caller has reserved, or which prompts none. Otherwise the change reserves the phone. */
  readonly promptKind?: StoredPromptKind;
  /** The new attempt was sent to its wallet in a lost time: no phone is prompted now, and `write` completes the attempt's row. */
  readonly isAdopted?: true;
  /** The browser that the checkout of the order is bound to from now on: the hash of its secret. */
  readonly browserHash?: Buffer | undefined;
  /** The work that the caller's own write makes due. A new attempt is always due. */
  readonly makesDue?: DueWork | undefined;
}

/** A new attempt, with its prompt. */
export interface NewAttempt extends PaymentAttemptValues {
  readonly network: string | null;
  readonly promptKind: StoredPromptKind;
}

/** An order whose row this transaction has locked. */
export interface Locked {
  readonly row: OrderRow;
}

/** The values that the steps of a change have read under the lock. */
export interface UnderLock<Taken extends Locked, Context> {
  readonly taken: Taken;
  readonly context: Context;
  /** The order before the change. */
  readonly order: OrderInFull;
  readonly now: Date;
}

/** The three steps of a change. They run under the order's lock and are committed together. */
export interface ChangeSteps<Taken extends Locked, Context, Decided extends Decision, Refusal, Answer> {
  /** Reads the caller's own rows that the decision needs. */
  readonly read: (em: EntityManager, taken: Taken) => Context | Promise<Context>;
  /** Decides, without I/O. A refusal changes nothing. */
  readonly decide: (
    order: OrderInFull,
    context: Context,
    now: Date,
    taken: Taken,
  ) => Result<Decided, Refusal>;
  /** Writes the caller's own rows, after those of the order, and returns the caller's answer. */
  readonly write: (
    em: EntityManager,
    decided: Decided,
    under: UnderLock<Taken, Context>,
  ) => Answer | Promise<Answer>;
}

/** The call that changes an order. */
export interface Caller {
  /** The request id of the call; '' for a change by the gateway itself. */
  readonly requestId: string;
  /** The network of the paying customer; null for all other callers. */
  readonly network?: string | null;
  /** The trace of the call, when other calls share its transaction; that of the running code by default. */
  readonly traceparent?: string;
}

/** A change of an existing order. */
export type OrderChange<Taken extends Locked, Context, Decided extends Decision, Refusal, Answer> = Caller &
  ChangeSteps<Taken, Context, Decided, Refusal, Answer>;

/**
 * Changes all orders that `take` locks in one transaction. Returns the answers, sorted like the rows. An order that cannot be read ends the
 * transaction, or is passed to `leaveOut`, and has no answer.
 */
export type Commit = <Taken extends Locked, Context, Decided extends Decision, Refusal, Answer>(
  take: (em: EntityManager) => Promise<readonly Taken[]>,
  timeOf: (em: EntityManager) => Date | Promise<Date>,
  callerOf: (taken: Taken) => Caller,
  steps: ChangeSteps<Taken, Context, Decided, Refusal, Answer>,
  leaveOut?: (row: OrderRow, error: unknown) => void,
) => Promise<Result<Answer, Refusal>[]>;
