export type ExchangePurpose =
  | 'token'
  | 'initiate'
  | 'query'
  | 'recover'
  | 'reverse'
  | 'query_reversal'
  | 'statement'
  | 'health'
  | 'register_urls'
  | 'callback';

/**
 * One request and its answer, to be stored with its attempt. It is safe to store: secrets are replaced, phone numbers masked,
 * only headers that describe the message are kept, and bodies are cut.
 */
export interface RawExchange {
  readonly purpose: ExchangePurpose;
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string;
  /** Absent when no answer arrived. */
  readonly status?: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** Why the answer is incomplete or missing; absent for a complete one. */
  readonly problem?: string;
}

/** A result, and its exchanges in order. */
export interface Answer<T> {
  readonly result: T;
  readonly exchanges: readonly RawExchange[];
}
