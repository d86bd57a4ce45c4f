import { STATUS_CODES } from 'node:http';
import type { AttemptResult } from '../domain/delivery.ts';
import type { Exchange } from './pinned-connection.ts';

/** How an attempt ended, and why, in a sentence for the merchant's developer; no sentence when it was delivered. */
export interface AttemptWords {
  readonly result: AttemptResult;
  readonly detail: string;
}

/** What a developer would look for first. */
const hints: Readonly<Record<number, string>> = {
  401: "the URL must take webhooks without a login, and know them by their signature; has it the merchant's current signing secret?",
  403: 'the URL must take webhooks without a login, and know them by their signature; is a firewall or bot filter before it?',
  404: 'is the path of the webhook_url right?',
  405: 'the URL must take POST',
};

/**
 * What a whole answer means. Its status alone decides: 2xx is delivered, whatever the page says; 410 asks for an end;
 * all else, redirects among it, is refused. The words quote nothing of the answer, which may hold secrets.
 */
export function explainAnswer(answer: Pick<Exchange, 'status' | 'location'>, url: URL): AttemptWords {
  const { status } = answer;
  if (status >= 200 && status < 300) return { result: 'DELIVERED', detail: '' };
  const answered = `answered ${nameStatus(status)}`;
  if (status === 410) {
    return {
      result: 'GONE',
      detail: `${answered}: nothing more is sent to ${url.origin} until it is resumed`,
    };
  }
  if (status >= 300 && status < 400 && answer.location !== '') {
    return {
      result: 'REFUSED',
      detail: `${answered}, a redirect to ${target(answer.location, url)}; redirects are not followed: register orders with the address that takes webhooks itself`,
    };
  }
  const hint = hints[status];
  return {
    result: 'REFUSED',
    detail: `${answered}; only 2xx counts as received${hint === undefined ? '' : `: ${hint}`}`,
  };
}

/** "404 Not Found", or the number alone when it has no name. */
export function nameStatus(status: number): string {
  const name = STATUS_CODES[status];
  return name === undefined ? String(status) : `${status} ${name}`;
}

/** Where a redirect points, as far as it may be told: paths and queries can hold secrets, so the difference is named. */
function target(location: string, from: URL): string {
  if (!URL.canParse(location, from.href)) return 'something that is not a URL';
  const to = new URL(location, from);
  const isSamePage = to.pathname === from.pathname && to.search === from.search;
  if (to.origin === from.origin) {
    if (isSamePage) return 'itself';
    if (to.pathname === `${from.pathname}/`) return 'the same path with a slash at its end';
    return 'another path of the same host';
  }
  if (to.protocol !== 'http:' && to.protocol !== 'https:') return `a ${to.protocol} URL`;
  return isSamePage ? `the same path at ${to.origin}` : to.origin;
}
