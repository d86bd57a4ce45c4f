import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** Counts a payment form against its page and its customer's network. Gives the seconds to wait once there were too many. */
export type CountPayment = (page: string, network: string) => Promise<number | undefined>;

export interface PaymentLimitSettings {
  /** In ten minutes. An order takes five payments in all; more forms of one page are refused ones. */
  readonly perPage: number;
  /** In ten minutes. High, because all customers of a mobile operator may share one address. */
  readonly perNetwork: number;
}

const windowSeconds = 10 * 60;

/**
 * The first line against somebody who uses checkout pages to have strangers prompted: cheap, and before core is asked. How
 * often one phone is prompted is for core to decide. Counts in the memory of this process: with several behind a
 * balancer, each allows its own share. A limit of 0 is none.
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
      // In whole minutes: nobody is told the moment at which the next one is free.
      if (exceeded instanceof RateLimiterRes)
        return Math.max(1, Math.ceil(exceeded.msBeforeNext / 60_000)) * 60;
      throw exceeded;
    }
  };
}
