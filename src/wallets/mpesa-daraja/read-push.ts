import { Value } from '@sinclair/typebox/value';
import type { JsonReply } from '../connector/json-reply.ts';
import { maskProviderText } from '../connector/mask-text.ts';
import type { Acknowledgement } from '../connector/outcomes.ts';
import { pushAnswerSchema, pushStateSchema } from './messages.ts';
import { readRefusal, readRefusedToken, saysStillProcessing, unknown, unknownAfter } from './mpesa-error.ts';
import { writeReference } from './references.ts';
import type { PushResult } from './result-codes.ts';
import { judgePush } from './result-codes.ts';

/** The answer to a payment request. Accepted only means that the prompt is on its way. */
export function readPushAnswer(reply: JsonReply, requestedAt: Date): Acknowledgement {
  if (reply.kind !== 'answered') return reply;
  if (reply.status === 200 && reply.body.ok && Value.Check(pushAnswerSchema, reply.body.json)) {
    const { CheckoutRequestID: checkout, ResponseCode: code } = reply.body.json;
    if (String(code) !== '0') {
      return unknown(
        'unrecognised_code',
        `the wallet answered 200 with the response code ${String(code).slice(0, 32)}`,
      );
    }
    const providerReference = writeReference({ checkout, at: requestedAt.getTime() });
    return { kind: 'accepted', providerReference, queryNow: false };
  }
  const failure = readRefusal(reply);
  return failure === undefined
    ? (readRefusedToken(reply) ?? unknownAfter(reply))
    : { kind: 'refused', ...failure };
}

/** The answer to the query of a payment request. It contains neither amount nor receipt. */
export function readPushState(reply: JsonReply, checkout: string): PushResult {
  if (reply.kind !== 'answered') return unknownAfter(reply);
  if (saysStillProcessing(reply)) return { kind: 'pending' };
  if (reply.status !== 200 || !reply.body.ok) return unknownAfter(reply);
  const state = reply.body.json;
  if (!Value.Check(pushStateSchema, state)) return unknownAfter(reply);
  if (state.CheckoutRequestID !== checkout) {
    return unknown('inconsistent', 'the answer is about another request than the one asked for');
  }
  return judgePush(String(state.ResultCode), maskProviderText(state.ResultDesc ?? ''));
}
