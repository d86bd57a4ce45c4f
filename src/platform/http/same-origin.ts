import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a form was sent by a page of our own. Browsers say so in Sec-Fetch-Site where they trust the connection (https,
 * or this machine), and no page can make them say it falsely. Where they do not, they say where it came from in Origin,
 * unless the page it came from has no referrer, as ours do not: Origin is `null` then. What is left, in old browsers, is
 * our cookie, which SameSite=Lax keeps back from the forms of others.
 */
export function isFromOurPages(headers: IncomingHttpHeaders, ownOrigin: string, hasCookie: boolean): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = headers;
  if (origin !== undefined && origin !== 'null') return origin === ownOrigin;
  return hasCookie;
}
