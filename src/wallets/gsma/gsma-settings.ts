import type { LookupFunction } from 'node:net';

/** The settings of one wallet with the GSMA Mobile Money API 1.2, in one environment. */
export interface GsmaSettings {
  /** The base of all paths of the contract, such as `https://api.wallet.example/mm/v1.2`. */
  readonly baseUrl: string;
  /** The token endpoint (RFC 6749, section 4.4): a path appended to `baseUrl`, or a separate URL. */
  readonly tokenPath: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
  /** The account that receives payments, with one of the contract's identifier types, such as `accountid` and `2999`. */
  readonly payee: { readonly type: string; readonly id: string };
  /** Our URL for the wallet. Callbacks go to `<callbackBaseUrl>/<our id>/<callback token>`. */
  readonly callbackBaseUrl: string;
  /** The ISO 4217 codes that this wallet accepts. */
  readonly currencies: readonly string[];
  readonly timeouts: {
    /** The time limit for a connection, including name resolution and TLS. */
    readonly connectMs: number;
    /** The time limit for a call: the access token, all its requests, and the last byte of every answer. For a statement, per page. */
    readonly callMs: number;
  };
  /** Finds the addresses of a host name. */
  readonly lookup: LookupFunction;
  /** The largest number of connections to the wallet. Further requests wait within their time limit. */
  readonly maxConnections: number;
}

/** The path of `segments` under the base URL, each escaped. */
export function resourceUrl(settings: GsmaSettings, ...segments: readonly string[]): URL {
  return new URL(`${withoutSlash(settings.baseUrl)}/${segments.map(encodeURIComponent).join('/')}`);
}

export function tokenUrl({ baseUrl, tokenPath }: GsmaSettings): URL {
  if (URL.canParse(tokenPath)) return new URL(tokenPath);
  return new URL(`${withoutSlash(baseUrl)}/${tokenPath.replace(/^\/+/, '')}`);
}

export function callbackUrl(settings: GsmaSettings, requestId: string, token: string): string {
  return `${withoutSlash(settings.callbackBaseUrl)}/${encodeURIComponent(requestId)}/${encodeURIComponent(token)}`;
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');
