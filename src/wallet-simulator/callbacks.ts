import { createHash } from 'node:crypto';

/** What a wallet and its client share. */
export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
}

export interface CallbackSenderOptions {
  readonly credentials: Credentials;
  readonly now: () => Date;
  /** In real milliseconds, however fast the wallet's own time goes. */
  readonly timeoutMs: number;
  /** Aborts every callback under way. */
  readonly closing: AbortSignal;
}

/** PUTs a body to a client's URL. Resolves with the status of the answer, or with why there was none. */
export type CallbackSender = (
  url: string,
  correlationId: string | undefined,
  content: object,
) => Promise<number | string>;

/**
 * Calls back as the contract says: a PUT with the wallet's credentials, the date and the hash of the body. Each is
 * sent once; whether to send another is the outcome's business, and clients must not rely on it.
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
