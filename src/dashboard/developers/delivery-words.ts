import {
  DeliveryAttemptResult,
  DeliveryState,
  EndpointState,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { webhooks } from '../language/english/webhooks.ts';

type Words = typeof webhooks;
export type Tone = 'good' | 'warn' | 'bad' | undefined;

/** The states in the filter, by their words in the query. */
export const deliveryStates = {
  pending: DeliveryState.PENDING,
  delivered: DeliveryState.DELIVERED,
  given_up: DeliveryState.GIVEN_UP,
} as const;

const stateNames = {
  [DeliveryState.UNSPECIFIED]: 'pending',
  [DeliveryState.PENDING]: 'pending',
  [DeliveryState.DELIVERED]: 'delivered',
  [DeliveryState.GIVEN_UP]: 'given_up',
} as const;
const stateTones = { pending: 'warn', delivered: 'good', given_up: 'bad' } as const;

/** A delivery without an attempt needs no attention. */
export function deliveryState(state: DeliveryState, attemptCount: number, words: Words) {
  const name = stateNames[state];
  const tone: Tone = name === 'pending' && attemptCount === 0 ? undefined : stateTones[name];
  return { text: words.deliveries.states[name], tone };
}

const endpointStates = {
  [EndpointState.UNSPECIFIED]: 'open',
  [EndpointState.OPEN]: 'open',
  [EndpointState.RESTING]: 'resting',
  [EndpointState.PAUSED]: 'paused',
} as const;
const endpointTones = { open: 'good', resting: 'warn', paused: 'bad' } as const;

export function endpointState(state: EndpointState, words: Words) {
  const name = endpointStates[state];
  return { name, text: words.endpoints.states[name], tone: endpointTones[name] };
}

const resultNames = {
  [DeliveryAttemptResult.UNSPECIFIED]: 'unknown',
  [DeliveryAttemptResult.DELIVERED]: 'delivered',
  [DeliveryAttemptResult.REFUSED]: 'refused',
  [DeliveryAttemptResult.GONE]: 'gone',
  [DeliveryAttemptResult.TIMED_OUT]: 'timed_out',
  [DeliveryAttemptResult.CONNECTION_FAILED]: 'connection_failed',
  [DeliveryAttemptResult.UNREADABLE]: 'unreadable',
  [DeliveryAttemptResult.TLS_FAILED]: 'tls_failed',
  [DeliveryAttemptResult.NAME_NOT_RESOLVED]: 'name_not_resolved',
  [DeliveryAttemptResult.ADDRESS_NOT_ALLOWED]: 'address_not_allowed',
} as const;

export const attemptResult = (result: DeliveryAttemptResult, words: Words): string =>
  words.delivery.results[resultNames[result]];
