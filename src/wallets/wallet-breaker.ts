import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhenResult } from 'cockatiel';
import type { Logger } from '../runtime/logger.ts';
import type { Health } from './connector/outcomes.ts';

/** Watches how a wallet does. */
export interface WalletBreaker {
  /** How much the wallet may be given: all one has, one request to see whether it is better, or nothing. */
  readonly allows: () => 'all' | 'one' | 'nothing';
  /** Does a piece of work, whatever is allowed by now, and counts whether the wallet was well. */
  readonly watch: (work: () => Promise<boolean>) => Promise<void>;
}

export interface WalletBreakerOptions {
  readonly wallet: string;
  readonly logger: Logger;
  /** How long a wallet in trouble is left alone before it is asked again how it is. */
  readonly restMs: number;
  /** Troubled answers in a row after which the wallet is asked how it is. */
  readonly threshold: number;
  /** Asks the wallet how it is, soon and apart from any payment. Never rejects. */
  readonly ask: () => Promise<Health>;
}

/** After so many rests in a row one piece of work is let through: a wallet may be better than it says. */
const restsBetweenTries = 12;

/**
 * One a wallet. Requests that go wrong may be the fault of what they are about: some payer's number that the wallet never
 * answers for. So after several in a row the wallet itself is asked how it is, and only when it does not say that it is
 * well it is left alone, until it does. A wallet that cannot be asked is tried with one piece of work after each rest.
 */
export function createWalletBreaker(options: WalletBreakerOptions): WalletBreaker {
  const { wallet, logger, restMs, threshold, ask } = options;
  const troubles = new ConsecutiveBreaker(threshold);
  let isAsking = false;
  /** Proper answers so far. */
  let answers = 0;
  let mayTry = false;
  let rests = 0;
  let rest: NodeJS.Timeout | undefined;
  /** There while the wallet is left alone. */
  let hold: { readonly dispose: () => void } | undefined;

  const policy = circuitBreaker(
    handleWhenResult((isWell) => isWell === false),
    {
      // Neither is used: when to stop and when to go on is the wallet's to say, and no clock's that may be set.
      halfOpenAfter: restMs,
      breaker: {
        state: undefined,
        success: () => noteAnswer(),
        failure: (): boolean => {
          if (troubles.failure() && hold === undefined) void judge();
          return false;
        },
      },
    },
  );
  const noteAnswer = (): void => {
    troubles.success();
    answers += 1;
  };
  const letBack = (): void => {
    noteAnswer();
    if (hold === undefined) return;
    clearTimeout(rest);
    hold.dispose();
    hold = undefined;
    mayTry = false;
    rests = 0;
    logger.info({ wallet }, 'the wallet is well again');
  };
  const leaveAlone = (health: Health): void => {
    hold ??= policy.isolate();
    mayTry ||= rests > 0 && (health.kind === 'untold' || rests % restsBetweenTries === 0);
    rests += 1;
    rest = setTimeout(() => void judge(), restMs).unref();
    logger.warn(
      { wallet, rest_ms: restMs, health },
      'the wallet is in trouble; it is left alone for a while',
    );
  };
  const judge = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    const answersBefore = answers;
    const health = await ask();
    isAsking = false;
    const isWell = health.kind === 'available' || health.kind === 'degraded';
    // Who has answered somebody properly meanwhile is not in trouble, whatever came of the question.
    if (isWell || answers > answersBefore) letBack();
    else leaveAlone(health);
  };
  const isLeftAlone = (): boolean => policy.state === CircuitState.Isolated;

  return {
    allows() {
      if (!isLeftAlone()) return 'all';
      return mayTry ? 'one' : 'nothing';
    },
    async watch(work) {
      if (!isLeftAlone()) {
        await policy.execute(work);
        return;
      }
      // Leased just before the rest began, it is done all the same: one call more hurts less than nobody having it until
      // the lease ends. Tried after a rest, it says how the wallet is.
      const isTry = mayTry;
      mayTry = false;
      const isWell = await work();
      if (isWell) noteAnswer();
      if (isWell && isTry) letBack();
    },
  };
}
