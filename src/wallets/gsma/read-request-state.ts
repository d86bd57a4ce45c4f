import { Value } from '@sinclair/typebox/value';
import type { Failure } from '../connector/failure-reason.ts';
import type { Unknown } from '../connector/outcomes.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import { requestStateSchema } from './messages.ts';
import { isTransactionId } from './provider-reference.ts';
import { judgeFailedState, readError } from './read-error.ts';
import { unansweredQuery, unknown } from './unknown-outcome.ts';

/** The state of a request, from `GET /requeststates/{serverCorrelationId}`. */
export type RequestProgress =
  | { readonly kind: 'pending'; readonly expiresAt?: Date }
  /** The wallet has finished the request. The transaction contains the outcome. */
  | { readonly kind: 'see_transaction'; readonly transactionReference: string }
  | ({ readonly kind: 'declined' } & Failure)
  | { readonly kind: 'timed_out' }
  | Unknown;

/** Reads the request state with this id. */
export function readRequestState(reply: JsonReply, serverCorrelationId: string): RequestProgress {
  if (reply.kind !== 'answered' || reply.status !== 200) return unansweredQuery(reply);
  if (!reply.body.ok) return unknown('unreadable_answer', reply.body.problem);
  const state = reply.body.json;
  if (!Value.Check(requestStateSchema, state)) {
    return unknown('unreadable_answer', 'the answer is not a request state');
  }
  if (state.serverCorrelationId.toLowerCase() !== serverCorrelationId.toLowerCase()) {
    return unknown('inconsistent', 'the answer is about another request than the one asked for');
  }
  switch (state.status.toLowerCase()) {
    case 'pending':
      return { kind: 'pending', ...readExpiry(state.expiryTime) };
    case 'completed':
      return readCompleted(state.objectReference ?? '');
    case 'failed':
      return readFailed(state);
    default:
      return unknown('unrecognised_status', `the request's status is "${state.status.slice(0, 64)}"`);
  }
}

/** Most wallets send the reference itself, and some a path to it. */
function readCompleted(objectReference: string): RequestProgress {
  const transactionReference = objectReference.replace(/^.*\/transactions\//, '');
  if (isTransactionId(transactionReference)) return { kind: 'see_transaction', transactionReference };
  return unknown('inconsistent', 'the request is completed but names no transaction');
}

function readFailed(state: unknown): RequestProgress {
  const error = readError(state);
  if (error !== undefined) return judgeFailedState(error);
  if (hasError(state))
    return unknown('unrecognised_code', 'the request failed with an error that cannot be read');
  return { kind: 'declined', reason: 'provider_error', providerCode: '', providerText: '' };
}

const hasError = (state: unknown): boolean =>
  typeof state === 'object' &&
  state !== null &&
  Object.keys(state).some((name) => ['error', 'errorreference', 'errorcode'].includes(name.toLowerCase()));

/** An RFC 3339 time. An unreadable time is ignored, because it only affects the time of the next query. */
function readExpiry(text: string | undefined): { expiresAt?: Date } {
  const expiresAt = new Date(text ?? Number.NaN);
  return Number.isNaN(expiresAt.getTime()) ? {} : { expiresAt };
}
