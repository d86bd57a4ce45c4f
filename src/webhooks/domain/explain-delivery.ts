import type { AttemptReport, DeliveryState, LaneKey, WebhookEventType } from './delivery.ts';
import { attemptsInRound, roundMs } from './retry-schedule.ts';
import { durationWords, timeWords } from './time-words.ts';

/** All that decides where a delivery is and when it goes. */
export interface DeliveryFacts {
  readonly now: Date;
  readonly delivery: ExplainedDelivery;
  /** The latest attempt. */
  readonly lastAttempt: (AttemptReport & { readonly number: number }) | undefined;
  readonly endpoint: ExplainedEndpoint;
  /** The next of its order that must go before it. */
  readonly earlier: { readonly id: string; readonly eventType: string } | undefined;
  /** Deliveries of its endpoint that were due before it; counted up to 1,000. */
  readonly dueBefore: number;
  /** Why its merchant's secret cannot be used. */
  readonly secretProblem: string | undefined;
}

export interface ExplainedDelivery extends LaneKey {
  readonly id: string;
  readonly eventType: WebhookEventType;
  readonly orderNumber: string;
  readonly state: DeliveryState;
  readonly dueAt: Date | null;
  readonly roundAttempts: number;
  readonly createdAt: Date;
  readonly deliveredAt: Date | null;
  readonly givenUpAt: Date | null;
}

export interface ExplainedEndpoint {
  readonly state: 'PAUSED' | 'RESTING' | 'OPEN';
  readonly consecutiveFailures: number;
  readonly restingUntil: Date | null;
  readonly pausedAt: Date | null;
  readonly pauseReason: string;
  /** Whether some process sends to it just now. */
  readonly isHeld: boolean;
}

export interface Explanation {
  /** For somebody who is called at night: what happened, what holds it, when it goes next, what to do. */
  readonly sentences: readonly string[];
  /** Undefined when that depends on somebody, or on another delivery, or when it will not be tried. */
  readonly nextAttemptAt: Date | undefined;
}

/** What is due goes out within milliseconds; what is not gone after this is waited for in vain. */
const overdueMs = 10_000;

export function explainDelivery(facts: DeliveryFacts): Explanation {
  const told = [whatItIs(facts), whatHappened(facts)];
  const { state } = facts.delivery;
  switch (state) {
    case 'DELIVERED':
      return {
        sentences: [
          ...told,
          'It is delivered, and nothing more will be sent.',
          `To send it once more: ${commands(facts).redeliver}`,
        ],
        nextAttemptAt: undefined,
      };
    case 'GIVEN_UP':
      return {
        sentences: [
          ...told,
          whyGivenUp(facts),
          `Once the receiver works, send it again: ${commands(facts).redeliver}`,
        ],
        nextAttemptAt: undefined,
      };
    case 'PENDING': {
      const { sentences, nextAttemptAt } = explainPending(facts);
      return { sentences: [...told, ...sentences], nextAttemptAt };
    }
  }
}

function whatItIs({ delivery, now }: DeliveryFacts): string {
  const { eventType, orderNumber, endpoint, createdAt } = delivery;
  const about = orderNumber === '' ? '' : ` of order ${orderNumber}`;
  return `It tells ${endpoint} of ${eventType}${about}, and was created ${timeWords(createdAt, now)}.`;
}

function whatHappened({ lastAttempt, now }: DeliveryFacts): string {
  if (lastAttempt === undefined) return 'It has not been sent yet.';
  const { number, startedAt, durationMs, result, statusCode, detail, retryAfter } = lastAttempt;
  const began = `Attempt ${number} was made ${timeWords(startedAt, now)}`;
  if (result === 'DELIVERED')
    return `${began} and was answered ${statusCode}, after ${tookWords(durationMs)}.`;
  const asked = retryAfter === '' ? '' : ` The receiver asked to wait (Retry-After: ${retryAfter}).`;
  return `${began} and failed after ${tookWords(durationMs)}: ${detail.replace(/\.$/, '')}.${asked}`;
}

const tookWords = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

function whyGivenUp({ delivery, now }: DeliveryFacts): string {
  const { givenUpAt, roundAttempts } = delivery;
  const attemptsInSchedule = attemptsInRound(delivery.eventType);
  const when = givenUpAt === null ? '' : ` ${timeWords(givenUpAt, now)}`;
  if (roundAttempts >= attemptsInSchedule)
    return `It was given up${when}: all ${attemptsInSchedule} attempts of its schedule have failed.`;
  return `It was given up${when}, after ${roundAttempts} of ${attemptsInSchedule} attempts, because the next would have been after the ${roundMs / 3_600_000} hours that its schedule lasts.`;
}

/** What holds it, the strongest first; what cannot be seen before that is mended is left out. */
function explainPending(facts: DeliveryFacts): Explanation {
  const { endpoint, earlier, secretProblem } = facts;
  if (endpoint.state === 'PAUSED') return explainPaused(facts);
  if (secretProblem !== undefined) {
    return {
      sentences: [
        `It cannot be signed, and so is not sent: ${secretProblem}.`,
        `If that key is lost, give the merchant a new secret at once: ${commands(facts).rotate}`,
      ],
      nextAttemptAt: undefined,
    };
  }
  if (earlier !== undefined) {
    return {
      sentences: [
        `It waits for its turn: ${earlier.eventType} of the same order, ${earlier.id}, is not delivered and not given up yet.`,
        `See why: ${commands(facts).explainEarlier(earlier.id)}`,
      ],
      nextAttemptAt: undefined,
    };
  }
  return endpoint.state === 'RESTING' ? explainResting(facts) : explainOpen(facts);
}

function explainPaused(facts: DeliveryFacts): Explanation {
  const { endpoint, now } = facts;
  const when = endpoint.pausedAt === null ? '' : ` ${timeWords(endpoint.pausedAt, now)}`;
  const why = endpoint.pauseReason === '' ? 'no reason was given' : endpoint.pauseReason;
  return {
    sentences: [
      `Its endpoint was paused${when}: ${why}.`,
      'It is kept, and the time does not count against it, but nothing is sent until somebody resumes the endpoint.',
      `When the receiver is ready: ${commands(facts).resume}`,
    ],
    nextAttemptAt: undefined,
  };
}

function explainResting(facts: DeliveryFacts): Explanation {
  const { endpoint, now } = facts;
  const dueAt = facts.delivery.dueAt ?? now;
  const probeAt = endpoint.restingUntil ?? now;
  const probe =
    probeAt > now ? `one delivery probes it ${timeWords(probeAt, now)}` : 'the first that is due probes it';
  return {
    sentences: [
      `Its endpoint rests after ${endpoint.consecutiveFailures} failures in a row; ${probe}, and when that is answered 2xx the others follow as they are due.`,
      whenDue(facts),
      ...notToWait(facts, { isEarly: dueAt > now, isAtRest: probeAt > now }),
    ],
    nextAttemptAt: latest(dueAt, probeAt, now),
  };
}

/** Resuming changes nothing for what is not due, and sending again nothing for an endpoint that is still at rest. */
function notToWait(facts: DeliveryFacts, { isEarly, isAtRest }: { isEarly: boolean; isAtRest: boolean }) {
  const { redeliver, resume } = commands(facts);
  if (!isEarly) return [`If the receiver is well, do not wait: ${resume}`];
  const again = `If the receiver is well, do not wait: ${redeliver}`;
  return isAtRest ? [again, `And end the rest: ${resume}`] : [again];
}

function explainOpen(facts: DeliveryFacts): Explanation {
  const { delivery, endpoint, dueBefore, now } = facts;
  const dueAt = delivery.dueAt ?? now;
  const nextAttemptAt = latest(dueAt, now);
  if (dueAt > now) {
    return { sentences: [whenDue(facts), `To try it now: ${commands(facts).redeliver}`], nextAttemptAt };
  }
  if (dueBefore > 0) {
    const count = dueBefore >= 1000 ? '1,000 or more' : String(dueBefore);
    const before = `${count} ${dueBefore === 1 ? 'delivery' : 'deliveries'} to the same endpoint ${dueBefore === 1 ? 'goes' : 'go'} before it, a few at a time.`;
    return { sentences: [whenDue(facts), before], nextAttemptAt };
  }
  if (endpoint.isHeld || now.getTime() - dueAt.getTime() < overdueMs) {
    return {
      sentences: [whenDue(facts), endpoint.isHeld ? 'It is being sent now.' : 'It goes out now.'],
      nextAttemptAt,
    };
  }
  return {
    sentences: [whenDue(facts), 'Nobody sends it: see whether a webhooks process runs: gatehouse doctor'],
    nextAttemptAt,
  };
}

function whenDue({ delivery, lastAttempt, now }: DeliveryFacts): string {
  const { dueAt, roundAttempts } = delivery;
  const since = (lastAttempt?.number ?? 0) > roundAttempts ? ' since it was sent again' : '';
  const attempt = `attempt ${roundAttempts + 1} of ${attemptsInRound(delivery.eventType)}${since}`;
  if (dueAt === null || dueAt > now)
    return `By its schedule it is due ${timeWords(dueAt ?? now, now)}: ${attempt}.`;
  const waited = now.getTime() - dueAt.getTime();
  return waited < 1000
    ? `It is due now: ${attempt}.`
    : `It has been due for ${durationWords(waited)}: ${attempt}.`;
}

const latest = (...times: readonly Date[]): Date =>
  new Date(Math.max(...times.map((time) => time.getTime())));

/** What can be done, to be pasted into a shell. */
function commands({ delivery }: DeliveryFacts) {
  const { merchantId, environment, endpoint, id } = delivery;
  const where = `--environment ${environment.toLowerCase()}`;
  return {
    redeliver: `gatehouse webhook redeliver ${merchantId} ${id}`,
    resume: `gatehouse webhook resume ${merchantId} ${endpoint} ${where}`,
    rotate: `gatehouse webhook secret rotate ${merchantId} ${where} --promote-after 0s`,
    explainEarlier: (earlier: string) => `gatehouse webhook explain ${merchantId} ${earlier}`,
  };
}
