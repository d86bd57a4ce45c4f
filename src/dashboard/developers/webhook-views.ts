import { durationMs } from '@bufbuild/protobuf/wkt';
import type {
  Delivery,
  DeliveryAttempt,
  Endpoint,
  GetDeliveryResponse,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { DeliveryAttemptResult, EndpointState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { Language } from '../../platform/language/language.ts';
import type { webhooks } from '../language/english/webhooks.ts';
import { momentOf } from '../moment-text.ts';
import { failureDetail } from './failure-detail.ts';
import { attemptResult, deliveryState, endpointState } from './delivery-words.ts';

/** The language and time zone of the page. */
export interface Writing {
  readonly words: typeof webhooks;
  readonly language: Language;
  readonly timeZone: string;
}

export function endpointRow(endpoint: Endpoint, { words, language, timeZone }: Writing) {
  const at = (time: Endpoint['probeTime']) => momentOf(time, language, timeZone);
  const probe = at(endpoint.probeTime);
  return {
    endpoint: endpoint.endpoint,
    state: endpointState(endpoint.state, words),
    note: pauseWords(endpoint, words) || (probe === undefined ? '' : words.endpoints.probe(probe.text)),
    pendingCount: Number(endpoint.pendingCount),
    lastSuccess: at(endpoint.lastSuccessTime),
    last: latestAnswer(endpoint, { words, language }),
  };
}

/** Why the endpoint is paused; '' when it is not. */
export const pauseWords = ({ pausedByAnswer, pauseReason }: Endpoint, words: Writing['words']): string =>
  pausedByAnswer ? words.endpoints.gone : pauseReason;

/** How the latest attempt ended. */
export function latestAnswer(
  { lastAttemptResult: result, lastResult, lastStatusCode }: Endpoint,
  { words, language }: Pick<Writing, 'words' | 'language'>,
) {
  // An answer's status is the same in every language.
  const detail =
    lastStatusCode === 0
      ? failureDetail(result, lastResult, language)
      : { text: lastResult, language: 'en' as const };
  return { text: result === DeliveryAttemptResult.UNSPECIFIED ? '' : attemptResult(result, words), detail };
}

/** The HTTP status, or a word for the failure without an answer; '' before the first attempt. */
const shortResult = (
  { lastAttemptResult, lastResult, lastStatusCode }: Delivery,
  words: Writing['words'],
): string =>
  lastStatusCode > 0
    ? String(lastStatusCode)
    : lastAttemptResult === DeliveryAttemptResult.UNSPECIFIED
      ? lastResult
      : attemptResult(lastAttemptResult, words);

export function deliveryRow(delivery: Delivery, { words, language, timeZone }: Writing) {
  return {
    id: delivery.deliveryId,
    eventType: delivery.eventType,
    orderNumber: delivery.orderNumber,
    endpoint: delivery.endpoint,
    state: deliveryState(delivery.state, delivery.attemptCount, words),
    attemptCount: delivery.attemptCount,
    lastResult: shortResult(delivery, words),
    created: momentOf(delivery.createTime, language, timeZone),
  };
}

function attemptRow(attempt: DeliveryAttempt, { words, language, timeZone }: Writing) {
  return {
    number: attempt.number,
    started: momentOf(attempt.startTime, language, timeZone),
    took:
      attempt.duration === undefined
        ? ''
        : words.delivery.milliseconds(Math.round(durationMs(attempt.duration))),
    isGood: attempt.result === DeliveryAttemptResult.DELIVERED,
    result: attemptResult(attempt.result, words),
    statusCode: attempt.statusCode,
    detail: failureDetail(attempt.result, attempt.detail, language),
    address: attempt.remoteAddress,
    answerBody: attempt.responseBody,
    retryAfter: attempt.retryAfter,
  };
}

/** The body as indented JSON; unchanged when it is not JSON. */
function readableBody(body: Uint8Array): string {
  const text = Buffer.from(body).toString();
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

const isHeld = ({ endpointState }: Delivery): boolean =>
  endpointState === EndpointState.PAUSED || endpointState === EndpointState.RESTING;

/** The page of one delivery. */
export function deliveryStory(
  { delivery, body, attempts }: GetDeliveryResponse & { readonly delivery: Delivery },
  writing: Writing,
) {
  const { words, language, timeZone } = writing;
  const at = (time: Delivery['dueTime']) => momentOf(time, language, timeZone);
  return {
    eventType: delivery.eventType,
    eventId: delivery.eventId,
    orderNumber: delivery.orderNumber,
    orderId: delivery.orderId,
    url: delivery.url,
    state: deliveryState(delivery.state, delivery.attemptCount, words),
    created: at(delivery.createTime),
    // While the endpoint is paused or its circuit is open, the due time is not when the delivery is sent.
    due: isHeld(delivery) ? undefined : at(delivery.dueTime),
    delivered: at(delivery.deliverTime),
    body: readableBody(body),
    attempts: attempts.map((attempt) => attemptRow(attempt, writing)),
  };
}
