import { callbackExchange, callbackHeaders } from '../connector/callback-exchange.ts';
import { readJson } from '../connector/read-json.ts';
import { timeoutPath } from '../connector/wallet-connector.ts';
import type { CallbackHint, CallbackRequest } from '../connector/wallet-connector.ts';
import { noteOf, writeNote } from './notes.ts';

/** The answer that M-Pesa expects to each of its messages. */
const acceptedReply = {
  status: 200,
  body: JSON.stringify({ ResultCode: 0, ResultDesc: 'Accepted' }),
};

/**
 * Reads a message to our URL: the outcome of a payment request, or the result of a query or a reversal. M-Pesa signs
 * nothing, so every message is only a reason to query, and its note is only used with our own queries.
 */
export function readCallback(callback: CallbackRequest, secrets: readonly string[]): CallbackHint {
  const read = readJson(
    { headers: { ...callbackHeaders(callback), ...assumedType }, body: callback.body },
    'the callback',
  );
  // A message that the request waited too long is not the result of the request, which M-Pesa may still execute.
  if (callback.url.endsWith(timeoutPath))
    return { ...timedOut, exchange: callbackExchange(callback, secrets, read.ok ? undefined : read.problem) };
  const note = read.ok ? noteOf(read.json) : undefined;
  const problem = read.ok
    ? note === undefined
      ? 'the callback is not a message of M-Pesa'
      : undefined
    : read.problem;
  return {
    queryNow: true,
    announced: note === undefined ? 'unreadable' : note.code === '0' ? 'completed' : 'failed',
    ...(note === undefined ? {} : { note: writeNote(note) }),
    reply: acceptedReply,
    exchange: callbackExchange(callback, secrets, problem),
  };
}

const timedOut = { queryNow: true, announced: 'other', reply: acceptedReply } as const;

/** M-Pesa does not always declare its JSON, and the callback listener replaces the type. */
const assumedType = { 'content-type': 'application/json' };
