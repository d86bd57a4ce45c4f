import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** Counts a payment form for its page and its customer's network. Gives the seconds to wait above a limit. */
export type CountPayment = (page: string, network: string) => Promise<number | undefined>;

export interface PaymentLimitSettings {
  /** Forms in ten minutes. An order accepts five payments in total, so further forms of a page are refused ones. */
  readonly perPage: number;
  /** Forms in ten minutes. The limit is high, because all customers of a mobile operator may share one address. */
  readonly perNetwork: number;
}

const windowSeconds = 10 * 60;

/**
 * The first defence against a person who uses checkout pages to prompt strangers' phones. It is cheap and needs no call to
 * core. Core limits the prompts of each phone. The counts are in the memory of this process, so each of several processes
 * behind a balancer has its own limit. 0 sets no limit.
 */
export function createPaymentLimit({ perPage, perNetwork }: PaymentLimitSettings): CountPayment {
  const limiters = [perPage, perNetwork].map((points) =>
    points === 0 ? undefined : new RateLimiterMemory({ points, duration: windowSeconds }),
  );
  return async (page, network) => {
    try {
      await limiters[0]?.consume(page);
      await limiters[1]?.consume(network);
      return undefined;
    } catch (exceeded) {
      // Whole minutes, so that no client learns the exact time at which the next form is allowed.
      if (exceeded instanceof RateLimiterRes)
        return Math.max(1, Math.ceil(exceeded.msBeforeNext / 60_000)) * 60;
      throw exceeded;
    }
  };
}
