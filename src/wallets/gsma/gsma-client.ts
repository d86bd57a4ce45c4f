import { createHash } from 'node:crypto';
import type { NotSentWhy, Unknown } from '../connector/outcomes.ts';
import type { Answer, ExchangePurpose, RawExchange } from '../connector/raw-exchange.ts';
import type { WalletHttp, WalletReply } from '../connector/wallet-http.ts';
import type { AccessTokens } from './access-tokens.ts';
import { askedWaitMs } from './asked-wait.ts';
import type { GsmaSettings } from './gsma-settings.ts';
import { judgeAcknowledgementError, readError } from './read-error.ts';
import type { JsonReading } from './read-json.ts';
import { readJson } from './read-json.ts';

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

/** The answer, read as far as possible without knowing its request. */
export type GsmaReply =
  GsmaAnswer | { readonly kind: 'not_sent'; readonly why: NotSentWhy; readonly detail: string } | Unknown;

export interface GsmaAnswer {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonReading;
  readonly retryAfterMs?: number;
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
  async call(request: GsmaRequest, signal: AbortSignal): Promise<Answer<GsmaReply>> {
    const first = await this.#attempt(request, signal);
    if (first.token === undefined || !isTokenRefused(first.reply)) {
      return { result: first.reply, exchanges: first.exchanges };
    }
    this.#tokens.drop(first.token);
    const second = await this.#attempt(request, signal);
    // The first request was sent. So if the second cannot be sent, the first answer counts.
    const reply = second.reply.kind === 'not_sent' ? first.reply : second.reply;
    return { result: reply, exchanges: [...first.exchanges, ...second.exchanges] };
  }

  /** Sends a request without an access token, as the contract requires for it. */
  async callWithoutToken(request: GsmaRequest, signal: AbortSignal): Promise<Answer<GsmaReply>> {
    const { reply, exchange } = await this.#send(request, undefined, signal);
    return { result: readReply(reply, this.#now()), exchanges: [exchange] };
  }

  async #attempt(
    request: GsmaRequest,
    signal: AbortSignal,
  ): Promise<{ reply: GsmaReply; exchanges: readonly RawExchange[]; token?: string }> {
    const access = await this.#tokens.get(signal);
    if (access.kind === 'none') {
      return {
        reply: { kind: 'not_sent', why: access.why, detail: access.detail },
        exchanges: access.exchanges,
      };
    }
    const { reply, exchange } = await this.#send(request, access.token, signal);
    return {
      reply: readReply(reply, this.#now()),
      exchanges: [...access.exchanges, exchange],
      token: access.token,
    };
  }

  #send({ purpose, url, post, maxAnswerBytes }: GsmaRequest, token: string | undefined, signal: AbortSignal) {
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
    return this.#http.exchange(
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
  }
}

function isTokenRefused(reply: GsmaReply): boolean {
  if (reply.kind !== 'answered' || reply.status !== 401) return false;
  const error = reply.body.ok ? readError(reply.body.json) : undefined;
  return error === undefined || judgeAcknowledgementError(error).kind === 'unknown';
}

function readReply(reply: WalletReply, now: Date): GsmaReply {
  if (reply.kind === 'lost') return { kind: 'unknown', why: reply.why, detail: reply.detail };
  if (reply.kind === 'not_sent') return reply;
  const wait = askedWaitMs(reply.headers, now);
  return {
    kind: 'answered',
    status: reply.status,
    headers: reply.headers,
    body: readJson(reply),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  };
}
