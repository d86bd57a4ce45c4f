import { createHash } from 'node:crypto';

/** The credentials between a wallet and its client. */
export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
}

export interface CallbackSenderOptions {
  readonly credentials: Credentials;
  readonly now: () => Date;
  /** In real milliseconds, independent of the wallet's time scale. */
  readonly timeoutMs: number;
  /** Aborts all callbacks under way. */
  readonly closing: AbortSignal;
}

/** PUTs a body to a client's URL. Resolves with the status of the answer, or the reason of a failure. */
export type CallbackSender = (
  url: string,
  correlationId: string | undefined,
  content: object,
) => Promise<number | string>;

/**
 * Sends callbacks as in the contract: a PUT with the wallet's credentials, the date and the hash of the body. Each call
 * sends one. Some simulated outcomes send a callback again or never, so clients must not rely on it.
 */
export function createCallbackSender(options: CallbackSenderOptions): CallbackSender {
  const { credentials, now, timeoutMs, closing } = options;
  return async (url, correlationId, content) => {
    const body = JSON.stringify(content);
    try {
      const response = await fetch(url, {
        method: 'PUT',
        body,
        redirect: 'manual',
        signal: AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]),
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'x-date': now().toISOString(),
          'x-client-id': credentials.clientId,
          'x-api-key': credentials.apiKey,
          'x-content-hash': createHash('sha256').update(body).digest('hex'),
          ...(correlationId === undefined ? {} : { 'x-correlationid': correlationId }),
        },
      });
      await response.body?.cancel();
      return response.status;
    } catch (error) {
      return reasonOf(error);
    }
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
