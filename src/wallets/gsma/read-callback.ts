import { Value } from '@sinclair/typebox/value';
import { callbackExchange, callbackHeaders } from '../connector/callback-exchange.ts';
import { readJson } from '../connector/read-json.ts';
import type { CallbackHint, CallbackRequest } from '../connector/wallet-connector.ts';
import { reversalSchema } from './messages.ts';
import { readError } from './read-error.ts';

/**
 * Reads a callback: a transaction for success, or only an error for failure. Its sender is not proved, so its content is only
 * logged, and every callback has the same effect: a query. `secrets` are kept out of the exchange.
 */
export function readCallback(callback: CallbackRequest, secrets: readonly string[]): CallbackHint {
  const read = readJson({ headers: callbackHeaders(callback), body: callback.body }, 'the callback');
  const json = read.ok ? read.json : undefined;
  return {
    queryNow: true,
    announced: announcedBy(json),
    reply: { status: 204, body: '' },
    exchange: callbackExchange(callback, secrets, read.ok ? undefined : read.problem),
  };
}

function announcedBy(json: unknown): CallbackHint['announced'] {
  if (Value.Check(reversalSchema, json))
    return json.transactionStatus.toLowerCase() === 'completed' ? 'completed' : 'other';
  return readError(json) === undefined ? 'unreadable' : 'failed';
}
