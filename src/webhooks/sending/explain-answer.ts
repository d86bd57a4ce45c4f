import { STATUS_CODES } from 'node:http';
import type { AttemptResult } from '../domain/delivery.ts';
import type { ReceivedResponse } from './pinned-connection.ts';

/**
 * The result of an attempt, and its explanation for the merchant's developer. The explanation is empty when the webhook
 * was delivered.
 */
export interface AttemptWords {
  readonly result: AttemptResult;
  readonly detail: string;
}

/** What the merchant's developer should check for a status. */
const hints: Readonly<Record<number, string>> = {
  401: "the URL must accept webhooks without a login and verify their signature with the merchant's current signing secret",
  403: 'the URL must accept webhooks without a login and verify their signature. Check for a firewall or bot filter',
  404: 'check the path of the URL',
  405: 'the URL must accept POST',
};

/**
 * The result of a complete response, by its status alone. 2xx means delivered, whatever the body says. 410 pauses the
 * host or webhook endpoint. Everything else is refused, redirects included. The explanation quotes no part of the response, which may
 * contain secrets.
 */
export function explainAnswer(answer: Pick<ReceivedResponse, 'status' | 'location'>, url: URL): AttemptWords {
  const { status } = answer;
  if (status >= 200 && status < 300) return { result: 'DELIVERED', detail: '' };
  const answered = `answered ${nameStatus(status)}`;
  if (status === 410) {
    return {
      result: 'GONE',
      detail: `${answered}: nothing more is sent to this host or webhook endpoint until it is resumed`,
    };
  }
  if (status >= 300 && status < 400 && answer.location !== '') {
    return {
      result: 'REFUSED',
      detail: `${answered}, a redirect to ${redirectTarget(answer.location, url)}; redirects are not followed: use the final URL`,
    };
  }
  const hint = hints[status];
  return {
    result: 'REFUSED',
    detail: `${answered}; only 2xx counts as received${hint === undefined ? '' : `: ${hint}`}`,
  };
}

/** "404 Not Found", or only the number of an unknown status. */
export function nameStatus(status: number): string {
  const name = STATUS_CODES[status];
  return name === undefined ? String(status) : `${status} ${name}`;
}

/** Longer than any origin with a name of DNS, which has at most 253 characters. */
const longestOrigin = 300;

/** The target of a redirect. Paths and queries may contain secrets, so only the difference is described. */
function redirectTarget(location: string, from: URL): string {
  if (!URL.canParse(location, from.href)) return 'an invalid URL';
  const to = new URL(location, from);
  const isSamePage = to.pathname === from.pathname && to.search === from.search;
  if (to.origin === from.origin) {
    if (isSamePage) return 'itself';
    if (to.pathname === `${from.pathname}/`) return 'the same path with a slash at its end';
    return 'another path of the same host';
  }
  if (to.origin.length > longestOrigin || to.protocol.length > longestOrigin) return 'an invalid URL';
  if (to.protocol !== 'http:' && to.protocol !== 'https:') return `a ${to.protocol} URL`;
  return isSamePage ? `the same path at ${to.origin}` : to.origin;
}
