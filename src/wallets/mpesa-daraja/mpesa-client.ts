import { Value } from '@sinclair/typebox/value';
import { AccessTokens, adviceOnToken, callWithToken } from '../connector/access-tokens.ts';
import type { FetchedToken, TokenResult } from '../connector/access-tokens.ts';
import type { ConnectorOptions } from '../connector/connector-kind.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import { readReply } from '../connector/json-reply.ts';
import type { Health } from '../connector/outcomes.ts';
import type { Answer, ExchangePurpose } from '../connector/raw-exchange.ts';
import type { CallOptions } from '../connector/wallet-connector.ts';
import { WalletHttp } from '../connector/wallet-http.ts';
import { isTokenRefused, readMpesaError } from './mpesa-error.ts';
import { tokenAnswerSchema } from './messages.ts';

/** The address and the credentials of one app at M-Pesa. */
export interface MpesaClientSettings {
  readonly base_url: string;
  readonly consumer_key: string;
  readonly consumer_secret: string;
}

export interface MpesaRequest {
  readonly purpose: ExchangePurpose;
  readonly path: string;
  readonly body: object;
  /** Secrets in the body, besides the credentials of the app. */
  readonly secrets: readonly string[];
  /** The longest answer that is read, if it may be longer than usual. */
  readonly maxAnswerBytes?: number;
}

const usualAnswerBytes = 64 * 1024;
const assumedTokenLifetimeSeconds = 300;

/**
 * Sends requests to M-Pesa with the access token of the app. A new token ends the previous one. So all clients of the process with the same
 * app share a token, and fetch only one at a time. A request is repeated once if its token was refused, because M-Pesa then has not
 * processed it.
 */
export class MpesaClient {
  readonly #settings: MpesaClientSettings;
  readonly #tokenPath: string;
  readonly #options: ConnectorOptions;
  readonly #http: WalletHttp;
  readonly #tokens: AccessTokens;

  constructor(settings: MpesaClientSettings, tokenPath: string, options: ConnectorOptions) {
    this.#settings = settings;
    this.#tokenPath = tokenPath;
    this.#options = options;
    const { timeouts, lookup, maxConnections, now } = options;
    this.#http = new WalletHttp({ connectMs: timeouts.connectMs, lookup, maxConnections }, now);
    const { consumer_key: key, consumer_secret: secret } = settings;
    this.#tokens = new AccessTokens(() => this.#fetchToken(this.#timeLimit()), options.now, {
      tokens: options.sharedTokens,
      credentials: [this.#url(tokenPath).href, key, secret],
    });
  }

  async post(
    { purpose, path, body, secrets, maxAnswerBytes = usualAnswerBytes }: MpesaRequest,
    options: CallOptions,
  ): Promise<Answer<JsonReply>> {
    const signal = AbortSignal.any([options.signal, this.#timeLimit()]);
    const send = async (token: string) => {
      const { reply, exchange } = await this.#http.exchange(
        {
          purpose,
          method: 'POST',
          url: this.#url(path),
          headers: {
            accept: 'application/json',
            'accept-encoding': 'identity',
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify(body),
          maxAnswerBytes,
          secrets: [...this.#credentials(), token, ...secrets],
        },
        signal,
      );
      return { reply: readReply(reply, this.#options.now()), exchange };
    };
    return callWithToken(this.#tokens, signal, send, isTokenRefused);
  }

  /**
   * M-Pesa has no health endpoint. It counts as available when it issues an access token, which shows that it can be reached and
   * knows our credentials. A new token is not fetched each time, because it would end the one in use. A token in use does not
   * show that M-Pesa works now. Its health then counts as not reported, so the circuit can open.
   */
  async health({ signal }: CallOptions): Promise<Answer<Health>> {
    if (signal.aborted) {
      return { result: { kind: 'unavailable', detail: 'aborted before it was asked' }, exchanges: [] };
    }
    const access = await this.#tokens.get(AbortSignal.any([signal, this.#timeLimit()]));
    return { result: healthOf(access), exchanges: access.exchanges };
  }

  /** The secrets that must appear in no exchange. */
  #credentials(): readonly string[] {
    const { consumer_key: key, consumer_secret: secret } = this.#settings;
    return [secret, Buffer.from(`${key}:${secret}`).toString('base64')];
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #fetchToken(signal: AbortSignal): Promise<FetchedToken> {
    const { consumer_key: key, consumer_secret: secret } = this.#settings;
    const basic = Buffer.from(`${key}:${secret}`).toString('base64');
    const url = this.#url(this.#tokenPath);
    url.searchParams.set('grant_type', 'client_credentials');
    const { reply, exchange } = await this.#http.exchange(
      {
        purpose: 'token',
        method: 'GET',
        url,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          authorization: `Basic ${basic}`,
        },
        maxAnswerBytes: usualAnswerBytes,
        secrets: this.#credentials(),
      },
      signal,
    );
    const answer = readTokenAnswer(readReply(reply, this.#options.now()));
    if (typeof answer === 'string') return { kind: 'none', detail: `no access token: ${answer}`, exchange };
    return { kind: 'token', ...answer, exchange };
  }

  #url(path: string): URL {
    return new URL(`${this.#settings.base_url.replace(/\/+$/, '')}${path}`);
  }

  #timeLimit(): AbortSignal {
    return AbortSignal.timeout(this.#options.timeouts.callMs);
  }
}

function healthOf(access: TokenResult): Health {
  if (access.kind === 'none') return { kind: 'unavailable', detail: access.detail };
  if (access.exchanges.length > 0) return { kind: 'available' };
  return {
    kind: 'unreported',
    detail:
      'M-Pesa has no health check, and the access token in use was issued earlier, so its health is not known now',
  };
}

/** The token and its lifetime, or why there is none. */
function readTokenAnswer(reply: JsonReply): { token: string; lifetimeMs: number } | string {
  if (reply.kind !== 'answered') return reply.detail;
  // M-Pesa answers wrong keys with an empty body.
  if (reply.status === 400 && reply.isEmpty) {
    return 'the wallet answered 400 with an empty body; check the consumer key and the consumer secret';
  }
  if (reply.status !== 200) {
    const error = reply.body.ok ? readMpesaError(reply.body.json) : undefined;
    const suffix = error === undefined ? '' : ` (${`${error.code} ${error.text}`.trim()})`;
    const advice = adviceOnToken(reply.status, 'the consumer key and the consumer secret');
    return `the wallet answered ${reply.status}${suffix}${advice}`;
  }
  if (!reply.body.ok) return reply.body.problem;
  const { json } = reply.body;
  if (!Value.Check(tokenAnswerSchema, json)) return 'the answer contains no usable access token';
  const seconds = json.expires_in === undefined ? assumedTokenLifetimeSeconds : Number(json.expires_in);
  return { token: json.access_token, lifetimeMs: seconds * 1_000 };
}
