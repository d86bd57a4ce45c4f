import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { AccessTokens, adviceOnToken, callWithToken } from '../connector/access-tokens.ts';
import type { FetchedToken } from '../connector/access-tokens.ts';
import { readReply } from '../connector/json-reply.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import { readJson } from '../connector/read-json.ts';
import type { Answer, ExchangePurpose } from '../connector/raw-exchange.ts';
import type { WalletHttp, WalletReply } from '../connector/wallet-http.ts';

/** The credentials of one product. Each product has its own subscription key and its own tokens. */
export interface ProductCredentials {
  readonly subscriptionKey: string;
  readonly apiUser: string;
  readonly apiKey: string;
}

export interface ProductSettings {
  readonly name: 'collection' | 'disbursement';
  readonly baseUrl: string;
  readonly targetEnvironment: string;
  readonly credentials: ProductCredentials;
  readonly callMs: number;
}

export interface ProductRequest {
  readonly purpose: ExchangePurpose;
  /** Below the product, such as `v1_0/requesttopay`. */
  readonly path: string;
  /** Absent for a GET. */
  readonly post?: {
    readonly body: string;
    readonly referenceId: string;
    readonly callbackUrl: string | undefined;
    /** The secret part of the callback URL. */
    readonly callbackToken: string;
  };
}

const maxAnswerBytes = 64 * 1024;

const tokenAnswer = Type.Object({
  access_token: Type.String({ pattern: '^[\\x21-\\x7e]{1,8192}$' }),
  expires_in: Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,20}$' })]),
});

const loginFailed = Type.Object({ error: Type.Literal('login_failed') });

/** One product of the API, with its credentials and its access token. */
export class MomoProduct {
  readonly #settings: ProductSettings;
  readonly #http: WalletHttp;
  readonly #now: () => Date;
  readonly #tokens: AccessTokens;

  constructor(settings: ProductSettings, http: WalletHttp, now: () => Date) {
    this.#settings = settings;
    this.#http = http;
    this.#now = now;
    this.#tokens = new AccessTokens(() => this.#fetchToken(), now);
  }

  /** Sends a request with an access token. If only the token was refused, the request is sent a second time. */
  call(request: ProductRequest, signal: AbortSignal): Promise<Answer<JsonReply>> {
    return callWithToken(
      this.#tokens,
      signal,
      (token) => this.#send(request, token, signal),
      (reply) => reply.kind === 'answered' && reply.status === 401,
    );
  }

  async #send({ purpose, path, post }: ProductRequest, token: string, signal: AbortSignal) {
    const { targetEnvironment, credentials } = this.#settings;
    const { reply, exchange } = await this.#http.exchange(
      {
        purpose,
        method: post === undefined ? 'GET' : 'POST',
        url: this.#url(path),
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          authorization: `Bearer ${token}`,
          'ocp-apim-subscription-key': credentials.subscriptionKey,
          'x-target-environment': targetEnvironment,
          ...(post === undefined
            ? {}
            : { 'content-type': 'application/json', 'x-reference-id': post.referenceId }),
          ...(post?.callbackUrl === undefined ? {} : { 'x-callback-url': post.callbackUrl }),
        },
        ...(post === undefined ? {} : { body: post.body }),
        maxAnswerBytes,
        secrets: [
          credentials.subscriptionKey,
          credentials.apiKey,
          token,
          ...(post === undefined ? [] : [post.callbackToken]),
        ],
      },
      signal,
    );
    return { reply: readReply(reply, this.#now()), exchange };
  }

  async #fetchToken(): Promise<FetchedToken> {
    const { subscriptionKey, apiUser, apiKey } = this.#settings.credentials;
    const basic = Buffer.from(`${apiUser}:${apiKey}`).toString('base64');
    const { reply, exchange } = await this.#http.exchange(
      {
        purpose: 'token',
        method: 'POST',
        url: this.#url('token/'),
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          authorization: `Basic ${basic}`,
          'ocp-apim-subscription-key': subscriptionKey,
          // MTN's gateway answers 411 without a length.
          'content-length': '0',
        },
        body: '',
        maxAnswerBytes,
        secrets: [subscriptionKey, apiKey, basic],
      },
      AbortSignal.timeout(this.#settings.callMs),
    );
    const answer = readToken(reply, this.#settings.name);
    return 'token' in answer ? { kind: 'token', ...answer, exchange } : { kind: 'none', ...answer, exchange };
  }

  #url(path: string): URL {
    const { baseUrl, name } = this.#settings;
    return new URL(`${baseUrl.replace(/\/+$/, '')}/${name}/${path}`);
  }
}

type TokenAnswer =
  | { readonly token: string; readonly lifetimeMs: number }
  | { readonly detail: string; readonly areCredentialsRefused?: boolean };

/**
 * The token and its lifetime, or why there is none. A web page with status 200 is no token: MTN's gateway sends some. It answers a wrong
 * API user or key with `login_failed`, and with status 401 or 500.
 */
function readToken(reply: WalletReply, product: string): TokenAnswer {
  const none = (why: string, areCredentialsRefused = false): TokenAnswer => ({
    detail: `no access token: ${why}`,
    areCredentialsRefused,
  });
  if (reply.kind !== 'answered') return none(reply.detail);
  const read = readJson(reply);
  if (reply.status !== 200) {
    const isLoginFailed = read.ok && Value.Check(loginFailed, read.json);
    const advice = adviceOnToken(
      isLoginFailed ? 401 : reply.status,
      `the subscription key, API user and API key of ${product}`,
    );
    return none(`MTN answered ${reply.status}${advice}`, isLoginFailed);
  }
  if (!read.ok) return none(read.problem);
  if (!Value.Check(tokenAnswer, read.json)) return none('the answer contains no token');
  return { token: read.json.access_token, lifetimeMs: Number(read.json.expires_in) * 1_000 };
}
