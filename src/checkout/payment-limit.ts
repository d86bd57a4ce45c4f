import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { environmentInToken } from '../contract/checkout-environment.ts';

/** A payment form before core is called. */
export interface CountedForm {
  readonly token: string;
  /** The secret of the browser that sent it. */
  readonly browserSecret: string;
  readonly network: string;
  /** Whether the checkout belongs to this browser, because its payment was the first. Core is asked only above the limit of a page. */
  readonly isPayer: () => Promise<boolean>;
}

/** A limit that a form exceeds. */
export interface ExceededLimit {
  /** What has the limit: the network, or the payment's page, with one browser or with all of them. */
  readonly of: 'network' | 'page';
  readonly waitSeconds: number;
}

export interface PaymentLimit {
  /** Counts a form. Gives the limit that it exceeds. */
  readonly count: (form: CountedForm) => Promise<ExceededLimit | undefined>;
  /** Takes back the count of a form that core could not answer. Otherwise customers who try again in an outage would have to wait after it. */
  readonly takeBack: (form: Omit<CountedForm, 'isPayer'>) => Promise<void>;
}

export interface PaymentLimitSettings {
  /** Forms of one browser at a page in ten minutes. An order accepts five payments in total, so further forms are refused ones. */
  readonly perBrowser: number;
  /** Forms of a page in ten minutes, from all browsers. Above it, only the browser to which the checkout belongs may send more. */
  readonly perPage: number;
  /** Forms in ten minutes, in each environment. The limit is high, because all customers of a mobile operator may share one address. */
  readonly perNetwork: number;
}

const windowSeconds = 10 * 60;

/**
 * The first defence against a person who uses checkout pages to prompt other people's phones. It is cheap and needs no call to
 * core, if core has known the link before. Core limits the prompts of each phone. The counts are in the memory of this process, so each of several processes
 * behind a balancer has its own limit. 0 sets no limit.
 *
 * The network is counted first, because it bounds how many pages one client can have in memory. A page is counted for each
 * browser, so that another person who has the link cannot keep the paying customer from a second try. Anyone can have many browsers.
 * So a page is also counted for all browsers together. Then one link cannot use up the limit of an address that many customers share. The
 * environments are counted apart, because anyone with a test key has as many links of the sandbox as they like.
 */
export function createPaymentLimit({ perBrowser, perPage, perNetwork }: PaymentLimitSettings): PaymentLimit {
  const networks = createLimiter(perNetwork);
  const pages = createLimiter(perPage);
  const browsers = createLimiter(perBrowser);
  const browserOf = ({ token, browserSecret }: Pick<CountedForm, 'token' | 'browserSecret'>): string =>
    `${token} ${browserSecret}`;
  const networkOf = ({ token, network }: Pick<CountedForm, 'token' | 'network'>): string =>
    `${environmentInToken(token)} ${network}`;
  const countAtPage = async (form: CountedForm): Promise<number | undefined> => {
    const ofPage = await secondsToWait(pages, form.token);
    if (ofPage !== undefined && !(await form.isPayer())) return ofPage;
    const ofBrowser = await secondsToWait(browsers, browserOf(form));
    if (ofBrowser !== undefined && ofPage === undefined) await pages?.reward(form.token);
    return ofBrowser;
  };
  return {
    async count(form) {
      const ofNetwork = await secondsToWait(networks, networkOf(form));
      if (ofNetwork !== undefined) return { of: 'network', waitSeconds: ofNetwork };
      let isCounted = false;
      try {
        const atPage = await countAtPage(form);
        isCounted = atPage === undefined;
        return atPage === undefined ? undefined : { of: 'page', waitSeconds: atPage };
      } finally {
        // A refused form does not count, and neither does one whose link core does not know, or about which it does not answer.
        if (!isCounted) await uncount(networks, networkOf(form));
      }
    },
    async takeBack(form) {
      await uncount(networks, networkOf(form));
      await uncount(pages, form.token);
      await uncount(browsers, browserOf(form));
    },
  };
}

const createLimiter = (points: number): RateLimiterMemory | undefined =>
  points === 0 ? undefined : new RateLimiterMemory({ points, duration: windowSeconds });

/** Removes one form from a count. A count of 0 is deleted, so that the forms of an outage do not fill the memory. */
async function uncount(limiter: RateLimiterMemory | undefined, key: string): Promise<void> {
  const left = await limiter?.reward(key);
  if (left !== undefined && left.consumedPoints <= 0) await limiter?.delete(key);
}

/** Counts one form unless it is above the limit. Gives whole minutes, so that no client learns the exact end of the wait. */
async function secondsToWait(
  limiter: RateLimiterMemory | undefined,
  key: string,
): Promise<number | undefined> {
  try {
    await limiter?.consume(key);
    return undefined;
  } catch (exceeded) {
    if (!(exceeded instanceof RateLimiterRes)) throw exceeded;
    await limiter?.reward(key);
    // The library uses the machine's clock, which may have been set back since.
    const leftMs = Math.min(exceeded.msBeforeNext, windowSeconds * 1000);
    return Math.max(1, Math.ceil(leftMs / 60_000)) * 60;
  }
}
