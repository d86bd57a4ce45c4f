import type { OrderEvent as OrderEventMessage } from '../../gen/gatehouse/v1/order_pb.js';
import type {
  Changed,
  OrderInFull,
  OrderStatus,
  PaymentAttemptStatus,
  registerOrder,
} from '../domain/order.ts';
import type { Result } from '../domain/result.ts';
import type { Command, Rejection } from '../domain/transition.ts';
import { eventMessage, eventTypeOf, statusOf } from '../rpc/order-messages.ts';
import { commandOf } from './command-of-event.ts';
import { differingFields, eventWord } from './differing-fields.ts';
import type { DifferingField } from './differing-fields.ts';
import { requireKnown, orderBefore, orderIn, pastAfter, timeIn } from './order-past.ts';
import type { OpenPast } from './order-past.ts';

/** The rules of a release. */
export interface Rules {
  readonly registerOrder: typeof registerOrder;
  readonly transition: (order: OrderInFull, command: Command, now: Date) => Result<Changed, Rejection>;
}

/** The known state of an order before its next event. */
export type Past =
  | OpenPast
  /** No decision can change a final order, so its attempts are not kept. */
  | { readonly type: 'final'; readonly status: OrderStatus; readonly sequence: number }
  /** An earlier event is missing, so no decision can be repeated. */
  | { readonly type: 'incomplete' };

export interface DifferentDecision {
  readonly command: string;
  /** The type of the recorded event, or the status of the attempt when the decision added no event. */
  readonly recorded: string;
  /** The same for the candidate, or "rejected: " and its reason, or "failed: " and its error. */
  readonly candidate: string;
  /** Empty when the candidate does not accept the command. */
  readonly fields: readonly DifferingField[];
}

/** One decision of the history, made again. */
export interface Replayed {
  /** Undefined when the candidate decides the same. */
  readonly difference: DifferentDecision | undefined;
  /** Whether the command was derived, because the event is of a release that did not record it. */
  readonly isDerived: boolean;
}

export interface EventReplay {
  readonly past: Past;
  readonly decisions: readonly Replayed[];
  /** Why the event itself has no decision among them: see `RehearsalCounts`. */
  readonly skipped?: 'other_rules' | 'command_unknown' | 'incomplete';
}

/**
 * Lets the candidate's rules decide an event again, from the state that the events before it recorded. So one difference causes no
 * others in later events. The result is a function of the arguments only.
 */
export function replayEvent(past: Past | undefined, event: OrderEventMessage, rules: Rules): EventReplay {
  const sequence = Number(event.sequence);
  if (past?.type === 'incomplete' || sequence !== (past?.sequence ?? 0) + 1)
    return { past: { type: 'incomplete' }, decisions: [], skipped: 'incomplete' };
  try {
    return replayKnown(past, event, rules);
  } catch (error) {
    const difference = {
      command: event.decision?.command ?? '',
      recorded: eventWord(event.type),
      candidate: `failed: ${error instanceof Error ? error.message : String(error)}`,
      fields: [],
    };
    return { past: { type: 'incomplete' }, decisions: [{ difference, isDerived: false }] };
  }
}

function replayKnown(
  past: Exclude<Past, { readonly type: 'incomplete' }> | undefined,
  event: OrderEventMessage,
  rules: Rules,
): EventReplay {
  const type = requireKnown(eventTypeOf(event.type), 'type');
  const message = requireKnown(event.order, 'order');
  const now = timeIn(event.occurTime, 'occur_time');
  const after = nextPast(event, past);
  if (type === 'CREATED' || past === undefined) {
    const created = rules.registerOrder(orderIn(message));
    return { past: after, decisions: [compareEvents('register', event, created, false)] };
  }
  if (type.startsWith('REFUND_') || type === 'STRAY_PAYMENT_SETTLED')
    return { past: after, decisions: [], skipped: 'other_rules' };
  const before: OrderInFull =
    past.type === 'open'
      ? orderBefore(past, event)
      : { ...orderIn(message), status: past.status, earlierAttempts: [], strayMoney: [] };
  const steps = past.type === 'open' ? [...replaySilentStep(past, event, before, rules)] : [];
  const command = commandOf(event, before);
  if (command === undefined) return { past: after, decisions: steps, skipped: 'command_unknown' };
  const decided = rules.transition(before, command, now);
  const isDerived = event.decision === undefined;
  if (decided.ok)
    return {
      past: after,
      decisions: [...steps, compareEvents(command.type, event, decided.value, isDerived)],
    };
  const difference = {
    command: command.type,
    recorded: eventWord(event.type),
    candidate: `rejected: ${decided.error.type}`,
    fields: [],
  };
  return { past: after, decisions: [...steps, { difference, isDerived }] };
}

function nextPast(event: OrderEventMessage, past: OpenPast | Past | undefined): Past {
  const status = requireKnown(statusOf(requireKnown(event.order, 'order').status), 'status');
  if (past?.type === 'final') return { ...past, sequence: Number(event.sequence) };
  return status === 'PENDING'
    ? pastAfter(event, past?.type === 'open' ? past : undefined)
    : { type: 'final', status, sequence: Number(event.sequence) };
}

function compareEvents(
  command: string,
  event: OrderEventMessage,
  changed: Changed,
  isDerived: boolean,
): Replayed {
  const [only] = changed.events;
  const candidate = only && eventMessage(only, event.eventId, event.requestId);
  const fields = candidate === undefined ? [] : differingFields(event, candidate);
  if (candidate !== undefined && fields.length === 0) return { difference: undefined, isDerived };
  const difference = {
    command,
    recorded: eventWord(event.type),
    candidate: candidate === undefined ? 'no event' : eventWord(candidate.type),
    fields,
  };
  return { difference, isDerived };
}

/**
 * The step of an attempt to SENT or UNKNOWN, which added no event. The next event records it with its time. A step before the
 * last one is not known, and neither is the stray money that a SENT attempt met.
 */
function* replaySilentStep(
  past: OpenPast,
  event: OrderEventMessage,
  before: OrderInFull,
  rules: Rules,
): Generator<Replayed> {
  const last = past.attempts.at(-1);
  const attempt = before.latestAttempt;
  if (event.decision === undefined || attempt === null || last?.status !== 'REQUESTED') return;
  if (attempt.status === 'SENT' && before.strayMoney.length === 0)
    yield silentStep({ ...before, latestAttempt: last }, 'send_attempt', 'SENT');
  if (attempt.status === 'UNKNOWN')
    yield silentStep({ ...before, latestAttempt: { ...last, status: 'SENT' } }, 'lose_attempt', 'UNKNOWN');

  function silentStep(
    order: OrderInFull,
    type: 'send_attempt' | 'lose_attempt',
    status: PaymentAttemptStatus,
  ): Replayed {
    const { id: attemptId, updatedAt } = attempt ?? { id: 'pat_', updatedAt: new Date(0) };
    const decided = rules.transition(order, { type, attemptId }, updatedAt);
    const outcome = !decided.ok
      ? `rejected: ${decided.error.type}`
      : (
          decided.value.events[0]?.type ??
          decided.value.order.latestAttempt?.status ??
          'no attempt'
        ).toLowerCase();
    const recorded = status.toLowerCase();
    const difference =
      outcome === recorded ? undefined : { command: type, recorded, candidate: outcome, fields: [] };
    return { difference, isDerived: false };
  }
}
