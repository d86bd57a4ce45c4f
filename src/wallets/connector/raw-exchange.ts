/** What an exchange was for. */
export type ExchangePurpose =
  | 'token'
  | 'initiate'
  | 'query'
  | 'recover'
  | 'reverse'
  | 'query_reversal'
  | 'statement'
  | 'health'
  | 'callback';

/**
 * One request and what came back, to be kept with the attempt it was about. Safe to store: secrets are replaced, phone
 * numbers masked, headers limited to those that say something about the message, bodies cut.
 */
export interface RawExchange {
  readonly purpose: ExchangePurpose;
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string;
  /** Absent when no answer began. */
  readonly status?: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** Why there is no whole answer; absent when there is one. */
  readonly problem?: string;
}

/** A result and every exchange that led to it, in order. */
export interface Answer<T> {
  readonly result: T;
  readonly exchanges: readonly RawExchange[];
}
