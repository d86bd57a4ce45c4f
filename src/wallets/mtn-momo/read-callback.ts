import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { callbackExchange, callbackHeaders } from '../connector/callback-exchange.ts';
import { readJson } from '../connector/read-json.ts';
import type { CallbackHint, CallbackRequest } from '../connector/wallet-connector.ts';

const notification = Type.Object({ status: Type.String() });

/** Reads a callback, by PUT or POST. It is not signed, and does not contain the X-Reference-Id, so it only causes a query. */
export function readCallback(callback: CallbackRequest, secrets: readonly string[]): CallbackHint {
  const read = readJson({ headers: callbackHeaders(callback), body: callback.body }, 'the callback');
  return {
    queryNow: true,
    announced: read.ok ? announcedBy(read.json) : 'unreadable',
    reply: { status: 200, body: '' },
    exchange: callbackExchange(callback, secrets, read.ok ? undefined : read.problem),
  };
}

function announcedBy(json: unknown): CallbackHint['announced'] {
  if (!Value.Check(notification, json)) return 'unreadable';
  const status = json.status.toUpperCase();
  return status === 'SUCCESSFUL' ? 'completed' : status === 'FAILED' ? 'failed' : 'other';
}
