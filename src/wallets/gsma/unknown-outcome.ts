import type { Unknown, UnknownWhy } from '../connector/outcomes.ts';
import { unasked } from '../connector/json-reply.ts';
import type { JsonAnswer, JsonReply } from '../connector/json-reply.ts';
import { nameOf, readError } from './read-error.ts';

/** An `unknown` for a reason found in an answer that is otherwise understood. */
export const unknown = (why: UnknownWhy, detail: string): Unknown => ({ kind: 'unknown', why, detail });

/** Why a query has no definite answer: it was not sent, or its answer was lost or decides nothing. */
export function unansweredQuery(reply: JsonReply): Unknown {
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'not_sent') return unasked(reply);
  return unknownAfter(reply);
}

/** Why an unexpected answer decides nothing, by its status. */
export function unknownAfter(answer: JsonAnswer): Unknown {
  const { why, detail } = judgeStatus(answer);
  return {
    kind: 'unknown',
    why,
    detail,
    ...(answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs }),
  };
}

function judgeStatus({ status, body }: JsonAnswer): { why: UnknownWhy; detail: string } {
  const error = body.ok ? readError(body.json) : undefined;
  const suffix = error === undefined ? '' : ` (${nameOf(error)})`;
  const detail = `the wallet answered ${status}${suffix}`;
  if (status >= 500) return { why: 'server_error', detail };
  if (status === 429) return { why: 'rate_limited', detail };
  if (error?.code === 'duplicaterequest') return { why: 'duplicate_request', detail };
  if (error?.code === 'ratelimiterror') return { why: 'rate_limited', detail };
  if (status === 401 || error?.code === 'clientauthorisationerror') return { why: 'unauthenticated', detail };
  if (status === 404) return { why: 'not_found', detail };
  if (status < 200 || status >= 300) {
    return body.ok && error !== undefined && status >= 400
      ? { why: 'unrecognised_code', detail }
      : { why: 'unexpected_status', detail };
  }
  if (!body.ok) return { why: 'unreadable_answer', detail: body.problem };
  return { why: 'unexpected_status', detail };
}
