import { limitFailures } from '../platform/line-limit.ts';
import type { Logger } from '../platform/logger.ts';
import type { Health } from './connector/outcomes.ts';

/** The circuit breaker of one wallet. */
export interface WalletBreaker {
  /** How much work may be sent to the wallet. Circuit closed: all. Half-open: one request. Open: nothing. */
  readonly allows: () => 'all' | 'one' | 'nothing';
  /**
   * Runs an item, even if the circuit has opened meanwhile, and counts whether the wallet answered correctly. Undefined does not count,
   * because such an item says nothing about the wallet.
   */
  readonly watch: (work: () => Promise<boolean | undefined>) => Promise<void>;
}

export interface WalletBreakerOptions {
  readonly wallet: string;
  readonly logger: Logger;
  /** The cooldown: how long an open circuit waits before the wallet's health is checked again. */
  readonly cooldownMs: number;
  /** Failures in a row after which the wallet's health is checked. */
  readonly threshold: number;
  /** Checks the wallet's health, without a payment. Never rejects. */
  readonly ask: () => Promise<Health>;
}

/** After this many cooldowns in a row one request is sent, because the wallet's health check may be wrong. */
const cooldownsBetweenTrials = 12;

/**
 * Failed requests may be the fault of one payer's number. So after several failures in a row, the breaker asks the wallet for its health.
 * It opens unless the wallet reports that it is healthy. The circuit closes when a health check or a request succeeds. A wallet without a
 * health check gets one request, the trial, after each cooldown.
 */
export function createWalletBreaker(options: WalletBreakerOptions): WalletBreaker {
  const { wallet, logger, cooldownMs, threshold, ask } = options;
  let failuresInRow = 0;
  let successes = 0;
  let isOpen = false;
  let isHalfOpen = false;
  let cooldowns = 0;
  let isChecking = false;
  let nextCheck: NodeJS.Timeout | undefined;
  /** An outage can last for days, with a check every few seconds. */
  const limitOpen = () =>
    limitFailures<[Health]>((_reason, health) =>
      logger.warn(
        { wallet, next_check_ms: cooldownMs, health },
        'circuit open: the wallet keeps failing, so its work waits until a check or a trial succeeds',
      ),
    );
  let logOpen = limitOpen();

  const noteSuccess = (): void => {
    failuresInRow = 0;
    successes += 1;
  };
  const close = (): void => {
    failuresInRow = 0;
    if (!isOpen) return;
    clearTimeout(nextCheck);
    isOpen = false;
    isHalfOpen = false;
    cooldowns = 0;
    logOpen = limitOpen();
    logger.info({ wallet }, 'circuit closed: the wallet has recovered');
  };
  const open = (health: Health): void => {
    isOpen = true;
    isHalfOpen ||=
      cooldowns > 0 && (health.kind === 'unreported' || cooldowns % cooldownsBetweenTrials === 0);
    cooldowns += 1;
    nextCheck = setTimeout(() => void check(), cooldownMs).unref();
    logOpen('detail' in health ? health.detail : health.kind, health);
  };
  const check = async (): Promise<void> => {
    if (isChecking) return;
    isChecking = true;
    const successesBefore = successes;
    const health = await ask();
    isChecking = false;
    const isHealthy = health.kind === 'available' || health.kind === 'degraded';
    // A request that succeeded meanwhile says more than the health check.
    if (isHealthy || successes > successesBefore) close();
    else open(health);
  };

  return {
    allows() {
      if (!isOpen) return 'all';
      return isHalfOpen ? 'one' : 'nothing';
    },
    async watch(work) {
      // Work that was leased just before the circuit opened is still done. Otherwise it would wait until its lease expires.
      const isTrial = isOpen && isHalfOpen;
      if (isTrial) isHalfOpen = false;
      const isHealthy = await work();
      // An item that says nothing about the wallet was no trial, so the next one is.
      if (isTrial && isHealthy === undefined) isHalfOpen = isOpen;
      if (isHealthy === true) {
        noteSuccess();
        if (isTrial) close();
        return;
      }
      if (isOpen || isHealthy === undefined) return;
      failuresInRow += 1;
      if (failuresInRow >= threshold) void check();
    },
  };
}
