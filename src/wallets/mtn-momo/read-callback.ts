import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { callbackExchange, callbackHeaders } from '../connector/callback-exchange.ts';
import { readJson } from '../connector/read-json.ts';
import type { CallbackHint, CallbackRequest } from '../connector/wallet-connector.ts';

const notification = Type.Object({
  status: Type.String(),
  externalId: Type.Optional(Type.Union([Type.String(), Type.Number()])),
});

/** Reads a callback, by PUT or POST. It is not signed, and does not contain the X-Reference-Id, so it only causes a query. */
export function readCallback(callback: CallbackRequest, secrets: readonly string[]): CallbackHint {
  const read = readJson({ headers: callbackHeaders(callback), body: callback.body }, 'the callback');
  return {
    queryNow: true,
    ...(read.ok ? readClaim(read.json) : { claim: 'unreadable' }),
    reply: { status: 200, body: '' },
    exchange: callbackExchange(callback, secrets, read.ok ? undefined : read.problem),
  };
}

function readClaim(json: unknown): Pick<CallbackHint, 'claim' | 'claimedRequestId'> {
  if (!Value.Check(notification, json)) return { claim: 'unreadable' };
  const status = json.status.toUpperCase();
  const claim = status === 'SUCCESSFUL' ? 'completed' : status === 'FAILED' ? 'failed' : 'other';
  const requestId = String(json.externalId ?? '');
  return { claim, ...(requestId === '' ? {} : { claimedRequestId: requestId }) };
}
