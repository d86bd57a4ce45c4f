import type { MpesaBody } from './mpesa-body.ts';

/** The differences between the countries of M-Pesa. */
export interface MpesaDialect {
  readonly currency: string;
  /** The country code, and the form of a subscriber's number, digits only. */
  readonly countryCode: string;
  readonly msisdn: RegExp;
  readonly tokenPath: string;
  /** Whether the answer with an access token has a `token_type`. */
  readonly tokenType: boolean;
  /** The answer to a client with wrong keys. */
  readonly wrongClient: { readonly status: number; readonly body: object | undefined };
  /** The accepted passwords of a payment request, from short code, passkey and time in one text. */
  readonly passwords: (text: string) => readonly string[];
  readonly pushPath: string;
  /** Absent where a payment request cannot be queried. */
  readonly queryPath?: string;
  /** The client gives the MerchantRequestID. */
  readonly clientNamesRequests: boolean;
  /** Whether a status query may name the MerchantRequestID of a payment request. */
  readonly statusByRequest: boolean;
  readonly reversalPaths: readonly string[];
  readonly registerPath: readonly string[];
  /** URLs are registered by the consumer key in the query, without an access token. */
  readonly registersByKey: boolean;
  readonly registered: (body: MpesaBody) => object;
  /** Paths that simulate a payment that the payer starts, in the sandbox. */
  readonly simulatePaths: readonly string[];
  readonly hasPull: boolean;
}

/** The password as Daraja documents it. */
export const plainPassword = (text: string): string => Buffer.from(text).toString('base64');
