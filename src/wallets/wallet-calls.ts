import type { CallbackTokens } from './callback-token.ts';
import type {
  Acknowledgement,
  PaymentOutcome,
  Recovery,
  ReversalOutcome,
  UnknownWhy,
} from './connector/outcomes.ts';
import type { Answer, RawExchange } from './connector/raw-exchange.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';

/** The result of the calls under one lease, to be reported to core. */
export interface Served<Outcome> {
  readonly outcome: Outcome;
  readonly exchanges: readonly RawExchange[];
  /** Whether no call counts against the wallet, for the circuit breaker. */
  readonly isWalletHealthy: boolean;
  /** Whether the wallet refused the account's credentials. Such a call says nothing about the wallet. */
  readonly areCredentialsRefused: boolean;
  /** The wait that the wallet requested; 0 when it requested none. */
  readonly retryAfterMs: number;
}

export interface ServeParts {
  readonly connector: WalletConnector;
  readonly tokens: CallbackTokens;
  /** The current time. For a payment attempt it is that of the database's clock, like the attempt's own times. */
  readonly now: () => Date;
}

/** The calls of a wallet under one lease: their exchanges, and the health of the wallet by their results. */
export class WalletCalls {
  readonly #exchanges: RawExchange[] = [];
  #isWalletHealthy = true;
  #areCredentialsRefused = false;
  #retryAfterMs = 0;

  /** Keeps the exchanges of a call, and returns its result. */
  keep<Result extends Acknowledgement | PaymentOutcome | ReversalOutcome | Recovery>(
    answer: Answer<Result>,
  ): Result {
    const { result, exchanges } = answer;
    this.#exchanges.push(...exchanges);
    if (refusesCredentials(answer)) this.#areCredentialsRefused = true;
    else if (result.kind === 'not_sent') this.#isWalletHealthy = false;
    else if (result.kind === 'unknown') this.#isWalletHealthy &&= !countsAgainstWallet(result.why);
    if (result.kind === 'unknown' || result.kind === 'not_sent') {
      this.#retryAfterMs = Math.max(this.#retryAfterMs, result.retryAfterMs ?? 0);
    }
    return result;
  }

  /** The outcome together with all calls that led to it. */
  servedWith<Outcome>(outcome: Outcome): Served<Outcome> {
    return {
      outcome,
      exchanges: this.#exchanges,
      isWalletHealthy: this.#isWalletHealthy,
      areCredentialsRefused: this.#areCredentialsRefused,
      retryAfterMs: this.#retryAfterMs,
    };
  }
}

/** An outcome without any call, because the merchant's account cannot be used. */
export const servedWithoutCall = <Outcome>(outcome: Outcome): Served<Outcome> => ({
  outcome,
  exchanges: [],
  isWalletHealthy: false,
  areCredentialsRefused: false,
  retryAfterMs: 0,
});

/**
 * Whether the wallet refused the credentials, or an access token for them. The refusal concerns one account, so it says nothing about the
 * wallet. Without an access token, nothing else was sent after the refusal.
 */
export function refusesCredentials({ result, exchanges }: Answer<{ readonly kind: string }>): boolean {
  const why = 'why' in result ? result.why : undefined;
  if (why === 'unauthenticated') return true;
  const isUnsent = result.kind === 'not_sent' || (result.kind === 'unknown' && why === 'not_asked');
  const last = exchanges.at(-1);
  // The answer to another request than that for a token may be a limit on requests.
  const isForToken = why === 'no_token' || last?.purpose === 'token';
  const status = last?.status ?? 0;
  if (last !== undefined && status !== 401 && isWebPage(last)) return false;
  return isUnsent && isForToken && status >= 400 && status < 500 && status !== 429;
}

/** A page in place of the wallet's answer, such as that of a firewall or of maintenance. It refuses no credentials. */
const isWebPage = ({ responseBody }: RawExchange): boolean => responseBody.trimStart().startsWith('<');

/** Failures that count against the wallet's health. All others concern one request. */
export function countsAgainstWallet(why: UnknownWhy): boolean {
  switch (why) {
    case 'timeout':
    case 'connection_lost':
    case 'not_asked':
    case 'answer_too_large':
    case 'unreadable_answer':
    case 'unexpected_status':
    case 'server_error':
    case 'rate_limited':
      return true;
    case 'aborted':
    case 'unauthenticated':
    case 'duplicate_request':
    case 'not_found':
    case 'unrecognised_status':
    case 'unrecognised_code':
    case 'inconsistent':
      return false;
  }
}
