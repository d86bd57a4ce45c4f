import type { Unknown } from './outcomes.ts';
import type { RawExchange } from './raw-exchange.ts';

/** A statement could not be read to its end. */
export class StatementError extends Error {
  override readonly name = 'StatementError';
  readonly reason: Unknown;
  /** The exchanges of the page that failed. */
  readonly exchanges: readonly RawExchange[];

  constructor(reason: Unknown, exchanges: readonly RawExchange[]) {
    super(`the wallet's statement could not be read to its end: ${reason.detail}`);
    this.reason = reason;
    this.exchanges = exchanges;
  }
}
