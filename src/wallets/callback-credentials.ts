import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Whether a callback carries the key agreed on with its wallet, in the header that the GSMA contract gives callbacks for
 * it, X-API-Key. True when none was agreed on. Digests are compared, so that the time it takes says nothing of the key.
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
