import { durationMs } from '@bufbuild/protobuf/wkt';
import type {
  Delivery,
  DeliveryAttempt,
  Endpoint,
  ExplainDeliveryResponse,
  GetDeliveryResponse,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import {
  DeliveryAttemptResult,
  DeliveryState,
  EndpointState,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { Language } from '../../platform/language/language.ts';
import type { webhooks } from '../language/english/webhooks.ts';
import { momentOf } from '../moment-text.ts';
import { attemptResult, deliveryState, endpointState } from './delivery-words.ts';

/** How what is shown is written. */
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
    last: latestAnswer(endpoint, words),
  };
}

/** Why it is paused; '' when it is not. */
export const pauseWords = ({ pausedByAnswer, pauseReason }: Endpoint, words: Writing['words']): string =>
  pausedByAnswer ? words.endpoints.gone : pauseReason;

/** How the latest attempt ended: the status when there was one, else what went wrong, which webhooks says in English. */
export function latestAnswer({ lastAttemptResult, lastResult }: Endpoint, words: Writing['words']) {
  if (lastAttemptResult === DeliveryAttemptResult.UNSPECIFIED) return { text: '', detail: lastResult };
  return { text: attemptResult(lastAttemptResult, words), detail: lastResult };
}

/** The status when there was one, else in a word what went wrong; '' before the first attempt. */
export const shortResult = (
  { lastAttemptResult, lastResult }: Pick<Endpoint, 'lastAttemptResult' | 'lastResult'>,
  words: Writing['words'],
): string =>
  lastAttemptResult === DeliveryAttemptResult.UNSPECIFIED || /^\d{3}$/.test(lastResult)
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
    detail: attempt.detail,
    address: attempt.remoteAddress,
    answerBody: attempt.responseBody,
    retryAfter: attempt.retryAfter,
  };
}

/** The body in lines to be read; as it is when it is no JSON. */
function readable(body: Uint8Array): string {
  const text = Buffer.from(body).toString();
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

const isHeld = ({ endpointState }: Delivery): boolean =>
  endpointState === EndpointState.PAUSED || endpointState === EndpointState.RESTING;

/** One delivery as its page shows it. */
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
    // While the endpoint is paused or backs off, the reason below says when, and this time would be wrong.
    due: isHeld(delivery) ? undefined : at(delivery.dueTime),
    delivered: at(delivery.deliverTime),
    body: readable(body),
    attempts: attempts.map((attempt) => attemptRow(attempt, writing)),
  };
}

/** An operator's way to do what the page has a button for. */
const isCommand = (sentence: string): boolean => /\bgatehouse webhook [a-z]+ /.test(sentence);

/** Why a delivery is where it is: in a word, and in all detail in English, as webhooks says it. */
export function explanation(answer: ExplainDeliveryResponse, writing: Writing) {
  return {
    inShort: shortExplanation(answer, writing),
    sentences: answer.sentences.filter((sentence) => !isCommand(sentence)),
  };
}

function shortExplanation(
  { delivery, endpoint, nextAttemptTime }: ExplainDeliveryResponse,
  { words, language, timeZone }: Writing,
): readonly string[] {
  const { why } = words.delivery;
  if (delivery?.state === DeliveryState.DELIVERED) return [why.delivered];
  if (delivery?.state === DeliveryState.GIVEN_UP) {
    return [why.givenUp(new Intl.NumberFormat(language).format(delivery.attemptCount))];
  }
  if (endpoint?.state === EndpointState.PAUSED) return [why.paused];
  const next = momentOf(nextAttemptTime, language, timeZone);
  return [
    ...(endpoint?.state === EndpointState.RESTING ? [why.resting] : []),
    next === undefined ? why.waits : why.next(next.text),
  ];
}
