import type { AttemptReport, DeliveryState, LaneKey, WebhookEventType } from './delivery.ts';
import { attemptsInRound, roundMs } from './retry-schedule.ts';

/** The facts that decide the state of a delivery and its next attempt. */
export interface DeliveryFacts {
  readonly now: Date;
  readonly delivery: ExplainedDelivery;
  /** The latest attempt. */
  readonly lastAttempt: NumberedAttempt | undefined;
  readonly endpoint: ExplainedEndpoint;
  /** An earlier delivery of the same order, which must end first. */
  readonly earlier: EarlierDelivery | undefined;
  /** Deliveries to the same endpoint that were due before this one; counted up to 1,000. */
  readonly dueBefore: number;
  /** Why it cannot be signed. */
  readonly secretProblem: SecretProblem | 'NOT_SHOWN' | undefined;
}

export interface NumberedAttempt extends AttemptReport {
  readonly number: number;
}

export interface EarlierDelivery {
  readonly id: string;
  readonly eventType: string;
}

export interface ExplainedDelivery extends LaneKey {
  readonly eventType: WebhookEventType;
  readonly state: DeliveryState;
  readonly dueAt: Date | null;
  readonly roundAttempts: number;
  readonly deliveredAt: Date | null;
  readonly givenUpAt: Date | null;
}

export interface ExplainedEndpoint {
  readonly state: 'PAUSED' | 'RESTING' | 'OPEN';
  readonly probeAt: Date | null;
  readonly pausedAt: Date | null;
  readonly pausedByAnswer: boolean;
  /** Whether a process sends to it now. */
  readonly isHeld: boolean;
  /** Whether it is a webhook endpoint that was deleted. */
  readonly isDeleted: boolean;
}

/** Why a signing secret cannot be decrypted. */
export interface SecretProblem {
  readonly kind: 'KEY_MISSING' | 'KEY_WRONG';
  /** "whs_…" */
  readonly secretId: string;
  /** Name of the key that encrypted it. */
  readonly keyName: string;
}

/** Why a delivery is in its state, as gatehouse.v1.DeliveryCause defines it. */
export type DeliveryCause =
  | 'DELIVERED'
  | 'ATTEMPTS_EXHAUSTED'
  | 'SCHEDULE_ENDED'
  | 'ENDPOINT_PAUSED'
  | 'ENDPOINT_GONE'
  | 'WEBHOOK_ENDPOINT_DELETED'
  | 'SIGNING_SECRET_NOT_SHOWN'
  | 'SIGNING_SECRET_UNUSABLE'
  | 'EARLIER_EVENT_PENDING'
  | 'CIRCUIT_OPEN'
  | 'NOT_DUE'
  | 'OTHERS_FIRST'
  | 'SENDING'
  | 'NO_SENDER';

/** The next step, as gatehouse.v1.DeliveryNextStep defines it. */
export type DeliveryNextStep =
  | 'REDELIVER'
  | 'RESUME_ENDPOINT'
  | 'CREATE_SIGNING_SECRET'
  | 'RESTORE_SIGNING_SECRET'
  | 'EXPLAIN_EARLIER'
  | 'CHECK_WEBHOOKS'
  | 'WAIT'
  | 'NONE';

/** Why a delivery is in its state and what to do: data, which each process that shows it puts into words. */
export interface Explanation {
  readonly cause: DeliveryCause;
  /** The most useful first. */
  readonly nextSteps: readonly [DeliveryNextStep, ...DeliveryNextStep[]];
  /**
   * When the delivery was delivered or abandoned, when the endpoint was paused, when the open circuit is probed, or when
   * the delivery is due.
   */
  readonly at: Date | undefined;
  /** Undefined when it depends on a person or on another delivery, and when it is not sent again. */
  readonly nextAttemptAt: Date | undefined;
  readonly explainedAt: Date;
  readonly lastAttempt: NumberedAttempt | undefined;
  /** Attempts since its schedule began, and the schedule's limits on attempts and milliseconds. */
  readonly schedule: { readonly attempts: number; readonly maxAttempts: number; readonly lastsMs: number };
  /** Of EARLIER_EVENT_PENDING. */
  readonly earlier: EarlierDelivery | undefined;
  /** Counted up to 1,000. */
  readonly dueBefore: number;
  /** Of SIGNING_SECRET_UNUSABLE. */
  readonly secretProblem: SecretProblem | undefined;
}

/** A delivery that is due is sent within milliseconds. If it has been due for longer than this, no process sends it. */
const overdueMs = 10_000;

type Reason = Pick<Explanation, 'cause' | 'nextSteps' | 'at' | 'nextAttemptAt'>;

export function explainDelivery(facts: DeliveryFacts): Explanation {
  const { now, delivery, lastAttempt, dueBefore, earlier, secretProblem } = facts;
  const reason = reasonOf(facts);
  return {
    ...reason,
    explainedAt: now,
    lastAttempt,
    schedule: {
      attempts: delivery.roundAttempts,
      maxAttempts: attemptsInRound(delivery.eventType),
      lastsMs: roundMs,
    },
    earlier: reason.cause === 'EARLIER_EVENT_PENDING' ? earlier : undefined,
    dueBefore,
    secretProblem:
      reason.cause === 'SIGNING_SECRET_UNUSABLE' && secretProblem !== 'NOT_SHOWN' ? secretProblem : undefined,
  };
}

function reasonOf(facts: DeliveryFacts): Reason {
  const { state, roundAttempts, eventType, deliveredAt, givenUpAt } = facts.delivery;
  const { isDeleted } = facts.endpoint;
  switch (state) {
    case 'DELIVERED':
      return { ...reasonOfEnded(deliveredAt, isDeleted), cause: 'DELIVERED' };
    case 'GIVEN_UP': {
      const isExhausted = roundAttempts >= attemptsInRound(eventType);
      const other = isDeleted ? 'WEBHOOK_ENDPOINT_DELETED' : 'SCHEDULE_ENDED';
      return { ...reasonOfEnded(givenUpAt, isDeleted), cause: isExhausted ? 'ATTEMPTS_EXHAUSTED' : other };
    }
    case 'PENDING':
      return pendingReason(facts);
  }
}

/** A delivery to a deleted webhook endpoint cannot be redelivered. */
const reasonOfEnded = (at: Date | null, isDeleted: boolean): Omit<Reason, 'cause'> => ({
  nextSteps: [isDeleted ? 'NONE' : 'REDELIVER'],
  at: at ?? undefined,
  nextAttemptAt: undefined,
});

/** The strongest cause. A weaker cause is reported after this one has ended. */
function pendingReason({
  now,
  delivery,
  endpoint,
  earlier,
  secretProblem,
  dueBefore,
}: DeliveryFacts): Reason {
  // Its pending deliveries are abandoned within seconds.
  if (endpoint.isDeleted)
    return {
      cause: 'WEBHOOK_ENDPOINT_DELETED',
      nextSteps: ['NONE'],
      at: undefined,
      nextAttemptAt: undefined,
    };
  if (endpoint.state === 'PAUSED')
    return {
      cause: endpoint.pausedByAnswer ? 'ENDPOINT_GONE' : 'ENDPOINT_PAUSED',
      nextSteps: ['RESUME_ENDPOINT'],
      at: endpoint.pausedAt ?? undefined,
      nextAttemptAt: undefined,
    };
  const waiting = { at: undefined, nextAttemptAt: undefined };
  if (secretProblem === 'NOT_SHOWN')
    return { ...waiting, cause: 'SIGNING_SECRET_NOT_SHOWN', nextSteps: ['CREATE_SIGNING_SECRET'] };
  if (secretProblem !== undefined)
    return { ...waiting, cause: 'SIGNING_SECRET_UNUSABLE', nextSteps: ['RESTORE_SIGNING_SECRET'] };
  if (earlier !== undefined)
    return { ...waiting, cause: 'EARLIER_EVENT_PENDING', nextSteps: ['EXPLAIN_EARLIER'] };
  const dueAt = delivery.dueAt ?? now;
  if (endpoint.state === 'RESTING') return circuitOpen(dueAt, endpoint.probeAt ?? now, now);
  if (dueAt > now) return { cause: 'NOT_DUE', nextSteps: ['REDELIVER'], at: dueAt, nextAttemptAt: dueAt };
  const due = { at: dueAt, nextAttemptAt: now };
  if (dueBefore > 0) return { ...due, cause: 'OTHERS_FIRST', nextSteps: ['WAIT'] };
  if (endpoint.isHeld || now.getTime() - dueAt.getTime() < overdueMs)
    return { ...due, cause: 'SENDING', nextSteps: ['WAIT'] };
  return { ...due, cause: 'NO_SENDER', nextSteps: ['CHECK_WEBHOOKS'] };
}

/** Resuming does not send deliveries that are due later. Redelivering does not send while the circuit is open. */
function circuitOpen(dueAt: Date, probeAt: Date, now: Date): Reason {
  return {
    cause: 'CIRCUIT_OPEN',
    nextSteps:
      dueAt <= now ? ['RESUME_ENDPOINT'] : probeAt > now ? ['REDELIVER', 'RESUME_ENDPOINT'] : ['REDELIVER'],
    at: probeAt,
    nextAttemptAt: new Date(Math.max(dueAt.getTime(), probeAt.getTime(), now.getTime())),
  };
}
