import { Value } from '@sinclair/typebox/value';
import { keptBodyLength, maskBody } from '../connector/mask-text.ts';
import type { CallbackHint, CallbackRequest } from '../connector/wallet-connector.ts';
import { keepHeaders } from '../connector/wallet-http.ts';
import { reversalSchema } from './messages.ts';
import { readError } from './read-error.ts';
import { readJson } from './read-json.ts';

/**
 * Reads a callback: a transaction for success, or only an error for failure. Its sender is not proved, so its content is only
 * logged, and every callback has the same effect: a query. `secrets` are kept out of the exchange.
 */
export function readCallback(callback: CallbackRequest, secrets: readonly string[]): CallbackHint {
  const headers = firstValues(callback.headers);
  const read = readJson({ headers, body: callback.body }, 'the callback');
  const json = read.ok ? read.json : undefined;
  return {
    lookNow: true,
    ...readClaim(json),
    reply: { status: 204, body: '' },
    exchange: {
      purpose: 'callback',
      method: callback.method.slice(0, 16),
      url: maskBody(callback.url.slice(0, 2048), secrets),
      requestHeaders: keepHeaders(headers),
      requestBody: maskBody(beginning(callback.body), secrets),
      responseHeaders: {},
      responseBody: '',
      startedAt: callback.receivedAt,
      endedAt: callback.receivedAt,
      ...(read.ok ? {} : { problem: read.problem }),
    },
  };
}

function readClaim(json: unknown): Pick<CallbackHint, 'claim' | 'claimedRequestId'> {
  if (Value.Check(reversalSchema, json)) {
    const requestId = json.requestingOrganisationTransactionReference ?? '';
    return {
      claim: json.transactionStatus.toLowerCase() === 'completed' ? 'completed' : 'other',
      ...(requestId === '' ? {} : { claimedRequestId: requestId }),
    };
  }
  return { claim: readError(json) === undefined ? 'unreadable' : 'failed' };
}

const firstValues = (headers: CallbackRequest['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      (typeof value === 'string' ? value : value?.[0]) ?? '',
    ]),
  );

const beginning = (body: Uint8Array): string =>
  Buffer.from(body.subarray(0, 4 * keptBodyLength))
    .toString('utf8')
    .replaceAll('\0', '\uFFFD');
