import { Value } from '@sinclair/typebox/value';
import type { Acknowledgement } from '../connector/outcomes.ts';
import type { JsonAnswer, JsonReply } from '../connector/json-reply.ts';
import { requestStateSchema, reversalSchema } from './messages.ts';
import { isTransactionId, writeReference } from './provider-reference.ts';
import { judgeAcknowledgementError, nameOf, readError } from './read-error.ts';
import { unknown, unknownAfter } from './unknown-outcome.ts';

/**
 * Reads the answer to a request to pay or to reverse. An acknowledgement can only confirm that the request was accepted. Even
 * a "completed" transaction in it is only a reason to query. Only a 4xx with an error that the contract defines as a refusal
 * is a refusal.
 */
export function readAcknowledgement(reply: JsonReply): Acknowledgement {
  if (reply.kind !== 'answered') return reply;
  if (reply.status === 202) return readRequestState(reply);
  if (reply.status === 201) return readCreated(reply);
  if (reply.status >= 400 && reply.status < 500 && reply.status !== 429) return readRefusal(reply);
  return unknownAfter(reply);
}

function readRequestState({ body }: JsonAnswer): Acknowledgement {
  if (!body.ok) return unknown('unreadable_answer', body.problem);
  if (!Value.Check(requestStateSchema, body.json)) {
    return unknown(
      'unreadable_answer',
      'the wallet accepted the request, but its answer is not a request state',
    );
  }
  const { serverCorrelationId: id, status } = body.json;
  return {
    kind: 'accepted',
    providerReference: writeReference({ collection: 'requeststates', id }),
    queryNow: status.toLowerCase() !== 'pending',
  };
}

/** An existing transaction has a reference. A query reads its other values. */
function readCreated({ body }: JsonAnswer): Acknowledgement {
  if (!body.ok) return unknown('unreadable_answer', body.problem);
  if (!Value.Check(reversalSchema, body.json) || !isTransactionId(body.json.transactionReference)) {
    return unknown(
      'unreadable_answer',
      'the wallet completed the request, but its answer is not a transaction',
    );
  }
  const { transactionReference: id } = body.json;
  return {
    kind: 'accepted',
    providerReference: writeReference({ collection: 'transactions', id }),
    queryNow: true,
  };
}

function readRefusal(answer: JsonAnswer): Acknowledgement {
  const error = answer.body.ok ? readError(answer.body.json) : undefined;
  if (error === undefined) return unknownAfter(answer);
  const verdict = judgeAcknowledgementError(error);
  if (verdict.kind === 'unknown') return unknownAfter(answer);
  if (verdict.kind === 'timed_out') {
    return {
      kind: 'refused',
      reason: 'provider_error',
      providerCode: nameOf(error),
      providerText: error.text,
    };
  }
  return { ...verdict, kind: 'refused' };
}
