import { randomUUID } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { AccessTokens, adviceOnToken, callWithToken } from '../connector/access-tokens.ts';
import type { FetchedToken } from '../connector/access-tokens.ts';
import { readReply } from '../connector/json-reply.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import { readJson } from '../connector/read-json.ts';
import type { Answer, ExchangePurpose } from '../connector/raw-exchange.ts';
import type { WalletHttp, WalletReply } from '../connector/wallet-http.ts';
import { signMessage, verifyMessage } from './signature.ts';
import type { SignaturePadding } from './signature.ts';

export interface TelebirrParts {
  readonly baseUrl: string;
  readonly checkoutUrl: string;
  readonly fabricAppId: string;
  readonly appSecret: string;
  readonly merchantAppId: string;
  readonly merchantCode: string;
  readonly privateKey: KeyObject;
  readonly telebirrPublicKey: KeyObject;
  readonly padding: SignaturePadding;
  /** Whether a success without telebirr's signature decides nothing. */
  readonly verifyAnswers: boolean;
  readonly paymentMinutes: number;
  readonly extraCertificates?: string;
}

/** A call of the Fabric gateway. */
export interface FabricCall {
  readonly purpose: ExchangePurpose;
  /** Such as `payment.preorder`. */
  readonly method: string;
  /** Below the base URL, such as `merchant/preOrder`. */
  readonly path: string;
  /** Without appid and merch_code, which every call has. Fields without a value are left out. */
  readonly content: Readonly<Record<string, string | undefined>>;
  /** Secrets in the content. */
  readonly secrets: readonly string[];
}

const maxAnswerBytes = 64 * 1024;

/** The lifetime of a token whose dates cannot be read. */
const assumedLifetimeMs = 300_000;

const tokenAnswer = Type.Object({
  token: Type.String({ pattern: '^[\\x20-\\x7e]{8,8192}$' }),
  effectiveDate: Type.Optional(Type.String()),
  expirationDate: Type.Optional(Type.String()),
});

const successfulAnswer = Type.Intersect([
  Type.Record(Type.String(), Type.Unknown()),
  Type.Object({
    result: Type.Literal('SUCCESS'),
    code: Type.Union([Type.Literal('0'), Type.Literal(0)]),
  }),
]);

/** Sends signed requests to the Fabric gateway. If only the token was refused, a request is sent a second time. */
export class FabricClient {
  readonly #parts: TelebirrParts;
  readonly #http: WalletHttp;
  readonly #now: () => Date;
  readonly #tokens: AccessTokens;

  constructor(parts: TelebirrParts, http: WalletHttp, callMs: number, now: () => Date) {
    this.#parts = parts;
    this.#http = http;
    this.#now = now;
    this.#tokens = new AccessTokens(() => this.fetchToken('token', AbortSignal.timeout(callMs)), now);
  }

  call(call: FabricCall, signal: AbortSignal): Promise<Answer<JsonReply>> {
    return callWithToken(
      this.#tokens,
      signal,
      (token) => this.#send(call, token, signal),
      (reply) => reply.kind === 'answered' && reply.status === 401,
    );
  }

  /** Fetches a token. It neither uses nor changes the cached one, which `call` uses. */
  async fetchToken(purpose: ExchangePurpose, signal: AbortSignal): Promise<FetchedToken> {
    const { fabricAppId, appSecret } = this.#parts;
    const { reply, exchange } = await this.#http.exchange(
      {
        purpose,
        method: 'POST',
        url: this.#url('token'),
        headers: this.#headers({ 'x-app-key': fabricAppId }),
        body: JSON.stringify({ appSecret }),
        maxAnswerBytes,
        secrets: [appSecret],
      },
      signal,
    );
    const answer = readToken(reply);
    if (typeof answer === 'string') return { kind: 'none', detail: `no access token: ${answer}`, exchange };
    return { kind: 'token', ...answer, exchange };
  }

  /**
   * The page that the payer opens. Its signature covers five fields: the ids, the nonce, the prepay id and the time.
   */
  checkoutPage(prepayId: string): string {
    const { checkoutUrl, merchantAppId, merchantCode, privateKey, padding } = this.#parts;
    const signed = {
      appid: merchantAppId,
      merch_code: merchantCode,
      nonce_str: newNonce(),
      prepay_id: prepayId,
      timestamp: this.#timestamp(),
    };
    const query = new URLSearchParams({
      ...signed,
      sign: signMessage(signed, privateKey, padding),
      sign_type: signType,
      version: '1.0',
      trade_type: 'Checkout',
    });
    return `${checkoutUrl.replace(/[?&]$/, '')}${checkoutUrl.slice(0, -1).includes('?') ? '&' : '?'}${query.toString()}`;
  }

  async #send({ purpose, method, path, content, secrets }: FabricCall, token: string, signal: AbortSignal) {
    const { fabricAppId, merchantAppId, merchantCode, privateKey, padding, appSecret } = this.#parts;
    const given = Object.entries(content).filter(([, value]) => value !== undefined && value !== '');
    const message = {
      timestamp: this.#timestamp(),
      nonce_str: newNonce(),
      method,
      version: '1.0',
      biz_content: { appid: merchantAppId, merch_code: merchantCode, ...Object.fromEntries(given) },
    };
    const body = { ...message, sign: signMessage(message, privateKey, padding), sign_type: signType };
    const { reply, exchange } = await this.#http.exchange(
      {
        purpose,
        method: 'POST',
        url: this.#url(path),
        headers: this.#headers({ 'x-app-key': fabricAppId, authorization: token }),
        body: JSON.stringify(body),
        maxAnswerBytes,
        secrets: [appSecret, token, token.replace(/^Bearer /, ''), ...secrets],
      },
      signal,
    );
    return { reply: this.#requireSignature(readReply(reply, this.#now())), exchange };
  }

  /** A success decides about money, so it must be signed. Errors of the gateway have no signature. */
  #requireSignature(reply: JsonReply): JsonReply {
    const { verifyAnswers, telebirrPublicKey } = this.#parts;
    if (!verifyAnswers || reply.kind !== 'answered' || !reply.body.ok) return reply;
    const { json } = reply.body;
    if (!Value.Check(successfulAnswer, json) || verifyMessage(json, telebirrPublicKey) !== undefined)
      return reply;
    const problem = 'sign' in json ? 'is not valid' : 'is missing';
    const detail = `the signature of telebirr's answer ${problem}; check telebirr_public_key, then verify_answers`;
    return { kind: 'unknown', why: 'unreadable_answer', detail };
  }

  #url(path: string): URL {
    return new URL(`${this.#parts.baseUrl.replace(/\/+$/, '')}/payment/v1/${path}`);
  }

  #headers(ownHeaders: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      ...ownHeaders,
    };
  }

  /** Unix seconds as text. */
  #timestamp(): string {
    return String(Math.floor(this.#now().getTime() / 1_000));
  }
}

const signType = 'SHA256WithRSA';

const newNonce = (): string => randomUUID().replaceAll('-', '');

/** The value of Authorization, which begins with Bearer, and its lifetime; or why there is none. */
function readToken(reply: WalletReply): { token: string; lifetimeMs: number } | string {
  if (reply.kind !== 'answered') return reply.detail;
  if (reply.status !== 200) {
    return `telebirr answered ${reply.status}${adviceOnToken(reply.status, 'fabric_app_id and app_secret')}`;
  }
  const read = readJson(reply);
  if (!read.ok) return read.problem;
  if (!Value.Check(tokenAnswer, read.json)) return 'the answer contains no token';
  const { token, effectiveDate, expirationDate } = read.json;
  const [from, to] = [effectiveDate, expirationDate].map(readDate);
  // The dates are in local time, so only their difference counts.
  const lifetimeMs = from === undefined || to === undefined || to <= from ? assumedLifetimeMs : to - from;
  return { token, lifetimeMs };
}

/** `yyyyMMddHHmmss` in milliseconds, of a zone that is the same for both dates. */
function readDate(text = ''): number | undefined {
  const match = /^([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})$/.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
