import { createHash } from 'node:crypto';
import type { AccessTokens } from '../connector/access-tokens.ts';
import { callWithToken } from '../connector/access-tokens.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import { readReply } from '../connector/json-reply.ts';
import type { Answer, ExchangePurpose, RawExchange } from '../connector/raw-exchange.ts';
import type { WalletHttp } from '../connector/wallet-http.ts';
import type { GsmaSettings } from './gsma-settings.ts';
import { judgeAcknowledgementError, readError } from './read-error.ts';

/** A request of the contract. */
export interface GsmaRequest {
  readonly purpose: ExchangePurpose;
  readonly url: URL;
  /** Absent for a GET. */
  readonly post?: {
    readonly body: string;
    readonly correlationId: string;
    readonly callbackUrl: string;
    /** The secret part of the callback URL. */
    readonly callbackToken: string;
  };
  readonly maxAnswerBytes: number;
}

/** Sends requests of the contract with their credentials. If only the token was refused, it sends a request a second time. */
export class GsmaClient {
  readonly #settings: GsmaSettings;
  readonly #http: WalletHttp;
  readonly #tokens: AccessTokens;
  readonly #now: () => Date;

  constructor(settings: GsmaSettings, http: WalletHttp, tokens: AccessTokens, now: () => Date) {
    this.#settings = settings;
    this.#http = http;
    this.#tokens = tokens;
    this.#now = now;
  }

  /**
   * Sends a request with an access token. A 401 that decides nothing means that the wallet no longer accepts the token, for
   * example after a restart. The request is then sent once more. Only the token and the time differ.
   */
  async call(request: GsmaRequest, signal: AbortSignal): Promise<Answer<JsonReply>> {
    return callWithToken(this.#tokens, signal, (token) => this.#send(request, token, signal), isTokenRefused);
  }

  /** Sends a request without an access token, as the contract requires for it. */
  async callWithoutToken(request: GsmaRequest, signal: AbortSignal): Promise<Answer<JsonReply>> {
    const { reply, exchange } = await this.#send(request, undefined, signal);
    return { result: reply, exchanges: [exchange] };
  }

  async #send(
    { purpose, url, post, maxAnswerBytes }: GsmaRequest,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<{ reply: JsonReply; exchange: RawExchange }> {
    const { clientId, clientSecret, apiKey } = this.#settings;
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      'x-api-key': apiKey,
      'x-client-id': clientId,
      'x-date': this.#now().toISOString(),
      ...(post === undefined
        ? {}
        : {
            'content-type': 'application/json',
            'x-callback-url': post.callbackUrl,
            'x-content-hash': createHash('sha256').update(post.body).digest('hex'),
            'x-correlationid': post.correlationId,
          }),
    };
    const { reply, exchange } = await this.#http.exchange(
      {
        purpose,
        method: post === undefined ? 'GET' : 'POST',
        url,
        headers,
        ...(post === undefined ? {} : { body: post.body }),
        maxAnswerBytes,
        secrets: [clientSecret, apiKey, token ?? '', post?.callbackToken ?? ''],
      },
      signal,
    );
    return { reply: readReply(reply, this.#now()), exchange };
  }
}

function isTokenRefused(reply: JsonReply): boolean {
  if (reply.kind !== 'answered' || reply.status !== 401) return false;
  const error = reply.body.ok ? readError(reply.body.json) : undefined;
  return error === undefined || judgeAcknowledgementError(error).kind === 'unknown';
}
