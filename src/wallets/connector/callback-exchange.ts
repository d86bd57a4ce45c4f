import { keptBodyLength, maskBody } from './mask-text.ts';
import type { RawExchange } from './raw-exchange.ts';
import type { CallbackRequest } from './wallet-connector.ts';
import { keepHeaders } from './wallet-http.ts';

/**
 * A callback as an exchange, safe to store.
 * @param problem why its message could not be read; undefined when it was read
 */
export function callbackExchange(
  callback: CallbackRequest,
  secrets: readonly string[],
  problem?: string,
): RawExchange {
  return {
    purpose: 'callback',
    method: callback.method.slice(0, 16),
    url: maskBody(callback.url.slice(0, 2048), secrets),
    requestHeaders: keepHeaders(callbackHeaders(callback)),
    requestBody: maskBody(beginningOf(callback.body), secrets),
    responseHeaders: {},
    responseBody: '',
    startedAt: callback.receivedAt,
    endedAt: callback.receivedAt,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** The headers of a callback: of a header sent twice, the first. */
export const callbackHeaders = ({ headers }: CallbackRequest): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      (typeof value === 'string' ? value : value?.[0]) ?? '',
    ]),
  );

const beginningOf = (body: Uint8Array): string =>
  Buffer.from(body.subarray(0, 4 * keptBodyLength))
    .toString('utf8')
    .replaceAll('\0', '\uFFFD');
