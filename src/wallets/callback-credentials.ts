import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Whether a callback carries the API key of its wallet in the X-API-Key header, which the GSMA contract defines for
 * callbacks. True when no key is configured. Digests are compared, so that the duration reveals nothing about the key.
 */
export function carriesKey(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  key: string | undefined,
): boolean {
  if (key === undefined) return true;
  const given = headers['x-api-key'];
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(key));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
