/** How to reach one wallet that speaks the GSMA Mobile Money API 1.2, in one environment. */
export interface GsmaSettings {
  /** What all paths of the contract are appended to, such as `https://api.wallet.example/mm/v1.2`. */
  readonly baseUrl: string;
  /** Where access tokens are had (RFC 6749, section 4.4): a path appended to `baseUrl`, or a URL of its own. */
  readonly tokenPath: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
  /** The account that is paid, by one of the contract's identifier types, such as `accountid` and `2999`. */
  readonly payee: { readonly type: string; readonly id: string };
  /** Where the wallet can reach us; callbacks go to `<callbackBaseUrl>/<our id>/<callback token>`. */
  readonly callbackBaseUrl: string;
  /** The ISO 4217 codes this wallet takes. */
  readonly currencies: readonly string[];
  readonly timeouts: {
    /** For a connection, name resolution and TLS included. */
    readonly connectMs: number;
    /** For a whole call: access token, every request of it, and the last byte of every answer. A statement: per page. */
    readonly callMs: number;
  };
  /** Connections to the wallet; requests beyond it wait, within their time. */
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
