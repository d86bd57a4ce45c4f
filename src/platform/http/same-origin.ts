import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a form was sent by one of our own pages. On trusted connections (https, or this machine), browsers send
 * Sec-Fetch-Site, and no page can forge it. On others they send Origin. It is `null` if the sending page has no referrer,
 * which is the case for our pages. In old browsers only our cookie is left. SameSite=Lax keeps it out of forms on other sites.
 */
export function isFromOurPages(headers: IncomingHttpHeaders, ownOrigin: string, hasCookie: boolean): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = headers;
  if (origin !== undefined && origin !== 'null') return origin === ownOrigin;
  return hasCookie;
}
