import { durationMs, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import {
  DeliveryAttemptResult,
  DeliveryCause,
  DeliveryNextStep,
  SigningSecretProblem,
} from '../gen/gatehouse/v1/webhook_service_pb.js';
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryExplanation,
  Endpoint,
} from '../gen/gatehouse/v1/webhook_service_pb.js';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { durationWords, timeWords } from '../platform/time-words.ts';
import { shellWord } from './shell-word.ts';

/** A sentence for an operator, and the command that it recommends; '' when there is none. */
export interface OperatorSentence {
  readonly text: string;
  readonly command: string;
}

/** The facts from which the text of an explanation is written. */
export interface Explained {
  readonly delivery: Delivery;
  readonly endpoint: Endpoint;
  readonly explanation: DeliveryExplanation;
}

interface ExplainedAt extends Explained {
  readonly now: Date;
}

const sentence = (text: string, command = ''): OperatorSentence => ({ text, command });

/**
 * An explanation in English for operators: the event, the latest attempt, the cause, the next attempt, and the next
 * steps. The command line shows it. `ExplainDeliveryResponse.sentences` contains it, for clients that do not interpret
 * the data.
 */
export function explanationText(explained: Explained): readonly OperatorSentence[] {
  const { explanation } = explained;
  const now = explanation.explainTime === undefined ? new Date(0) : timestampDate(explanation.explainTime);
  const facts = { ...explained, now };
  return [
    eventText(facts),
    attemptText(explanation.lastAttempt, now),
    ...causeTexts(facts),
    ...explanation.nextSteps.flatMap((step, index) => stepTexts(step, index > 0, facts)),
  ];
}

const timeSuffix = (time: Timestamp | undefined, now: Date): string =>
  time === undefined ? '' : ` ${timeWords(timestampDate(time), now)}`;

function eventText({ delivery, now }: ExplainedAt): OperatorSentence {
  const { eventType, orderNumber, endpoint, createTime, webhookEndpointId } = delivery;
  const order = orderNumber === '' ? '' : ` of order ${orderNumber}`;
  return sentence(
    `It reports ${eventType}${order} to ${endpoint}${webhookEndpointId === '' ? '' : ` (${webhookEndpointId})`}. It was created${timeSuffix(createTime, now)}.`,
  );
}

function attemptText(attempt: DeliveryAttempt | undefined, now: Date): OperatorSentence {
  if (attempt === undefined) return sentence('It has not been sent yet.');
  const { number, startTime, duration, result, statusCode, detail, retryAfter } = attempt;
  const began = `Attempt ${number} began${timeSuffix(startTime, now)}`;
  const took = tookWords(duration);
  if (result === DeliveryAttemptResult.DELIVERED)
    return sentence(`${began}. The receiver answered ${statusCode} after ${took}.`);
  const asked =
    retryAfter === '' ? '' : ` The receiver asked Gatehouse to wait (Retry-After: ${retryAfter}).`;
  return sentence(`${began} and failed after ${took}.${asked} Reason: ${detail}`);
}

function tookWords(duration: Duration | undefined): string {
  const ms = duration === undefined ? 0 : Math.round(durationMs(duration));
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function causeTexts(facts: ExplainedAt): readonly OperatorSentence[] {
  const { delivery, explanation, endpoint, now } = facts;
  const { at, scheduleMaxAttempts, scheduleAttempts, earlierDeliveryId, earlierEventType } = explanation;
  switch (explanation.cause) {
    case DeliveryCause.DELIVERED:
      return [sentence('It is delivered. It will not be sent again.')];
    case DeliveryCause.ATTEMPTS_EXHAUSTED:
      return [
        sentence(
          `It was abandoned${timeSuffix(at, now)}, because all ${scheduleMaxAttempts} attempts of its schedule failed.`,
        ),
      ];
    case DeliveryCause.SCHEDULE_ENDED:
      return [
        sentence(
          `It was abandoned${timeSuffix(at, now)}, after ${scheduleAttempts} of ${scheduleMaxAttempts} attempts. The next one would have been after the ${hours(explanation.scheduleDuration)} that its schedule lasts.`,
        ),
      ];
    case DeliveryCause.ENDPOINT_PAUSED:
    case DeliveryCause.ENDPOINT_GONE: {
      const reason = endpoint.pauseReason === '' ? '' : ` Reason: ${endpoint.pauseReason}`;
      return [
        sentence(`Its ${targetOf(delivery)} was paused${timeSuffix(at, now)}.${reason}`),
        sentence(keptText(targetOf(delivery))),
      ];
    }
    case DeliveryCause.SIGNING_SECRET_UNUSABLE:
      return [sentence(`It is not sent, because it cannot be signed. ${secretText(explanation)}`)];
    case DeliveryCause.SIGNING_SECRET_NOT_SHOWN:
      return [
        sentence(
          'It waits until a signing secret is shown, because its receiver could not verify it. Its schedule begins then.',
        ),
      ];
    case DeliveryCause.WEBHOOK_ENDPOINT_DELETED:
      return [sentence(`It was abandoned${timeSuffix(at, now)}, because its webhook endpoint was deleted.`)];
    case DeliveryCause.EARLIER_EVENT_PENDING:
      return [
        sentence(
          `It waits for an earlier event of the same order: ${earlierEventType}, delivery ${earlierDeliveryId}, is still pending.`,
        ),
      ];
    case DeliveryCause.CIRCUIT_OPEN:
      return [sentence(circuitText(facts)), sentence(dueText(facts))];
    case DeliveryCause.NOT_DUE:
      return [sentence(dueText(facts))];
    case DeliveryCause.OTHERS_FIRST:
      return [sentence(dueText(facts)), sentence(othersText(explanation.dueBeforeCount, targetOf(delivery)))];
    case DeliveryCause.SENDING:
      return [sentence(dueText(facts)), sentence('It is being sent now.')];
    case DeliveryCause.NO_SENDER:
      return [sentence(dueText(facts)), sentence('No webhooks process sends it.')];
    case DeliveryCause.UNSPECIFIED:
      return [sentence('The cause is unknown to this version of Gatehouse. Upgrade Gatehouse.')];
  }
}

/** The noun for the receiver of a delivery. */
export const targetOf = ({ webhookEndpointId }: Pick<Delivery, 'webhookEndpointId'>): string =>
  webhookEndpointId === '' ? 'host' : 'webhook endpoint';

const keptText = (target: string): string =>
  `It is kept, and its schedule stands still. Nothing is sent until the ${target} is resumed.`;

const hours = (duration: Duration | undefined): string =>
  `${Math.round((duration === undefined ? 0 : durationMs(duration)) / 3_600_000)} hours`;

function secretText({
  signingSecretProblem,
  signingSecretId,
  encryptionKeyName,
}: DeliveryExplanation): string {
  const key = `the key "${encryptionKeyName}"`;
  if (signingSecretProblem === SigningSecretProblem.KEY_MISSING)
    return `The signing secret ${signingSecretId} is encrypted with ${key}, which is missing in GATEHOUSE_WEBHOOK_SECRET_KEYS.`;
  return `The signing secret ${signingSecretId} cannot be decrypted with ${key}. That key in GATEHOUSE_WEBHOOK_SECRET_KEYS has changed since, or the stored bytes have.`;
}

function circuitText({ delivery, endpoint, explanation, now }: ExplainedAt): string {
  const { at } = explanation;
  const target = targetOf(delivery);
  const isProbedLater = at !== undefined && timestampDate(at) > now;
  return [
    `The circuit of its ${target} is open after ${endpoint.consecutiveFailures} failures in a row.`,
    isProbedLater
      ? `One delivery probes the ${target}${timeSuffix(at, now)}.`
      : `The next delivery that is due probes the ${target}.`,
    'After a 2xx the others follow.',
  ].join(' ');
}

function dueText({ delivery, explanation, now }: ExplainedAt): string {
  const { scheduleAttempts, scheduleMaxAttempts, lastAttempt } = explanation;
  const isAgain = (lastAttempt?.number ?? 0) > scheduleAttempts;
  const attempt = `attempt ${scheduleAttempts + 1} of ${scheduleMaxAttempts}${isAgain ? ' since it was sent again' : ''}`;
  const dueAt = delivery.dueTime === undefined ? now : timestampDate(delivery.dueTime);
  if (dueAt > now) return `The next attempt is due ${timeWords(dueAt, now)}: ${attempt}.`;
  const waited = now.getTime() - dueAt.getTime();
  return waited < 1000
    ? `It is due now: ${attempt}.`
    : `It has been due for ${durationWords(waited)}: ${attempt}.`;
}

/** The server stops counting here. */
const maxCounted = 1000;

function othersText(count: number, target: string): string {
  const words =
    count >= maxCounted ? '1,000 or more deliveries' : count === 1 ? '1 delivery' : `${count} deliveries`;
  return `${words} to the same ${target} ${count === 1 ? 'was' : 'were'} due earlier. They are sent first, a few at a time.`;
}

function stepTexts(
  step: DeliveryNextStep,
  isSecond: boolean,
  facts: ExplainedAt,
): readonly OperatorSentence[] {
  const { delivery, explanation } = facts;
  const { merchantId, deliveryId, endpoint, webhookEndpointId } = delivery;
  const environment = Environment[delivery.environment].toLowerCase();
  switch (step) {
    case DeliveryNextStep.REDELIVER:
      return [
        sentence(redeliverText(explanation.cause), `gatehouse webhook redeliver ${merchantId} ${deliveryId}`),
      ];
    case DeliveryNextStep.RESUME_ENDPOINT:
      return [
        sentence(
          isSecond
            ? 'And close the circuit:'
            : `If the receiver works again, resume the ${targetOf(delivery)}:`,
          webhookEndpointId === ''
            ? `gatehouse webhook resume ${merchantId} ${shellWord(endpoint)} --environment ${environment}`
            : `gatehouse webhook endpoint resume ${merchantId} ${webhookEndpointId}`,
        ),
      ];
    case DeliveryNextStep.RESTORE_SIGNING_SECRET:
      return [
        sentence(
          'Put the key back into GATEHOUSE_WEBHOOK_SECRET_KEYS, behind the others. If the key is lost, create a new secret and give it to the merchant:',
          `${rotateCommand(facts)} --promote-after 0s`,
        ),
      ];
    case DeliveryNextStep.CREATE_SIGNING_SECRET:
      return [
        sentence(
          'The merchant can create one in the dashboard. Or create one, and give it to the merchant:',
          rotateCommand(facts),
        ),
      ];
    case DeliveryNextStep.EXPLAIN_EARLIER:
      return [
        sentence(
          'See why the earlier one waits:',
          `gatehouse webhook explain ${merchantId} ${explanation.earlierDeliveryId}`,
        ),
      ];
    case DeliveryNextStep.CHECK_WEBHOOKS:
      return [sentence('Check that a webhooks process runs:', 'gatehouse doctor')];
    case DeliveryNextStep.WAIT:
    case DeliveryNextStep.NONE:
    case DeliveryNextStep.UNSPECIFIED:
      return [];
  }
}

/** Creates a signing secret for the receiver of a delivery. */
const rotateCommand = ({ delivery }: ExplainedAt): string => {
  const { merchantId, webhookEndpointId, environment } = delivery;
  return webhookEndpointId === ''
    ? `gatehouse webhook secret rotate ${merchantId} --environment ${Environment[environment].toLowerCase()}`
    : `gatehouse webhook endpoint rotate-secret ${merchantId} ${webhookEndpointId}`;
};

function redeliverText(cause: DeliveryCause): string {
  switch (cause) {
    case DeliveryCause.DELIVERED:
      return 'To send it once more:';
    case DeliveryCause.ATTEMPTS_EXHAUSTED:
    case DeliveryCause.SCHEDULE_ENDED:
      return 'Once the receiver works, send it again:';
    default:
      return 'If the receiver works again, send it now:';
  }
}
