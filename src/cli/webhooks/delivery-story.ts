import type { JsonObject } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { counted } from '../../contract/counted.ts';
import { targetOf } from '../../contract/explanation-text.ts';
import {
  DeliveryAttemptResult,
  DeliveryAttemptSchema,
  DeliverySchema,
  DeliveryState,
  EndpointState,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type {
  Delivery,
  DeliveryAttempt,
  GetDeliveryResponse,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { deliveryStateTerm, showEnvironment } from '../options.ts';
import { requireField } from '../output.ts';
import { plainJson } from '../plain-json.ts';
import { fields, printable, table } from '../table.ts';
import { showTime } from '../time.ts';

export const showState = ({ state }: Delivery): string => deliveryStateTerm(state);

/** The number of attempts in words, such as "2 attempts". */
export const showAttemptCount = ({ attemptCount }: Delivery): string => counted(attemptCount, 'attempt');

/** The facts about a delivery, without its body and its attempts. */
export const describeDelivery = (delivery: Delivery, width: number): string =>
  [
    `Delivery ${delivery.deliveryId} in ${showEnvironment(delivery.environment)}`,
    fields(
      [
        ['State', showState(delivery)],
        ['Event', delivery.eventType],
        ['Event id', delivery.eventId],
        ['Merchant', delivery.merchantId],
        ['Order number', delivery.orderNumber],
        ['Order', delivery.orderId],
        ['Sequence', delivery.orderId === '' ? '' : String(delivery.sequence)],
        ['URL', delivery.url],
        ['Created', showTime(delivery.createTime)],
        ['Attempts', delivery.attemptCount === 0 ? 'none yet' : String(delivery.attemptCount)],
        ['Last result', delivery.lastResult],
        ['Delivered', showTime(delivery.deliverTime)],
        ['Due', showDue(delivery)],
      ],
      width,
    ),
  ].join('\n\n');

/** When a pending delivery is sent, considering the state of its host or webhook endpoint; '' for one that is not pending. */
export function showDue(delivery: Delivery): string {
  const { state, dueTime, endpointState, awaitsSecret } = delivery;
  if (state !== DeliveryState.PENDING) return '';
  if (awaitsSecret && endpointState !== EndpointState.PAUSED) return 'when a signing secret is created';
  switch (endpointState) {
    case EndpointState.PAUSED:
      return `when its ${targetOf(delivery)}, which is paused, is resumed`;
    case EndpointState.RESTING:
      return `${showTime(dueTime)} or later: the circuit of its ${targetOf(delivery)} is open`;
    case EndpointState.UNSPECIFIED:
    case EndpointState.OPEN:
      return showTime(dueTime);
  }
}

/** A delivery, its body as text and its attempts, newest first, for scripts. */
export const storyJson = (story: GetDeliveryResponse): JsonObject => ({
  ...plainJson(DeliverySchema, requireField(story.delivery)),
  body: textOf(story.body),
  attempts: story.attempts.map((attempt) => plainJson(DeliveryAttemptSchema, attempt)),
});

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** A body with line breaks, for people. The sent body has none. */
export function showBody(body: Uint8Array): string {
  const text = textOf(body);
  try {
    return printable(JSON.stringify(JSON.parse(text), null, 2));
  } catch {
    return printable(text);
  }
}

/** The number of attempts that fit a screen. */
const maxAttempts = 20;
/** The number of characters: enough for an error message, and too few for an error page. */
const maxAnswerCharacters = 300;

/** Results without an answer; undefined for results with one. */
const unanswered: Readonly<Record<DeliveryAttemptResult, string | undefined>> = {
  [DeliveryAttemptResult.UNSPECIFIED]: 'unknown result',
  [DeliveryAttemptResult.DELIVERED]: undefined,
  [DeliveryAttemptResult.REFUSED]: undefined,
  [DeliveryAttemptResult.GONE]: undefined,
  [DeliveryAttemptResult.TIMED_OUT]: 'timed out',
  [DeliveryAttemptResult.CONNECTION_FAILED]: 'connection failed',
  [DeliveryAttemptResult.UNREADABLE]: 'unreadable answer',
  [DeliveryAttemptResult.TLS_FAILED]: 'TLS failed',
  [DeliveryAttemptResult.NAME_NOT_RESOLVED]: 'name not resolved',
  [DeliveryAttemptResult.ADDRESS_NOT_ALLOWED]: 'address not allowed',
};

/** The result of an attempt in a few words: "answered 204 in 12 ms". */
export function showResult({ result, statusCode, duration }: DeliveryAttempt): string {
  const took = duration === undefined ? '' : `${Math.round(durationMs(duration))} ms`;
  const failure = unanswered[result];
  return failure === undefined ? `answered ${statusCode} in ${took}` : `${failure} after ${took}`;
}

/** The failure, the wait that the receiver requested, and its answer, each on its own line. Empty ones are omitted. */
export function showAnswer({ detail, responseBody, retryAfter }: DeliveryAttempt): string[] {
  const answer = responseBody.replace(/\s+/g, ' ').trim();
  const isLong = answer.length > maxAnswerCharacters;
  return [
    detail,
    retryAfter === '' ? '' : `asked to wait: Retry-After: ${retryAfter}`,
    answer === ''
      ? ''
      : `< ${isLong ? `${answer.slice(0, maxAnswerCharacters)}… (more of it: --json)` : answer}`,
  ].filter((line) => line !== '');
}

/** Attempts as text, newest first. */
export function showDeliveryAttempts({ attempts, delivery }: GetDeliveryResponse, width: number): string {
  if (attempts.length === 0) return 'It has not been sent yet';
  const shown = attempts.slice(0, maxAttempts);
  const rows = shown.map((attempt) => [
    `#${attempt.number}`,
    [
      `${showTime(attempt.startTime)}  ${showResult(attempt)}${attempt.remoteAddress === '' ? '' : ` by ${attempt.remoteAddress}`}`,
      ...showAnswer(attempt),
    ].join('\n'),
  ]);
  const left = (delivery?.attemptCount ?? 0) - shown.length;
  return [
    'Attempts, newest first',
    table([{ head: '' }, { head: '', wraps: true }], rows, width),
    ...(left > 0 ? [`… and ${left} before that (the latest ${attempts.length}: --json)`] : []),
  ].join('\n');
}

/** Whether the delivery still has to be sent. */
export const isPending = ({ state }: Delivery): boolean => state === DeliveryState.PENDING;
