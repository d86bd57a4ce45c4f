import type { FastifyRequest } from 'fastify';

/** The form of a key. Its checksum is not checked here. */
const form = /^svc_(test|live)_[A-Za-z0-9_-]{43}[0-9a-z]{7}$/;

/** The hint about every refused key of the right form. It says nothing about the key, so it does not help an attacker who guesses keys. */
export const refusedKeyHint =
  'is not accepted: it is unknown, revoked or expired, or its merchant may not use this environment';

/** The probable mistake of a request without a valid key. It is derived from the request alone. */
export function keyHintFor(
  { headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>,
  environment: 'production' | 'sandbox',
): string {
  const given = raw.headersDistinct['apikey'] ?? [];
  const [apiKey = ''] = given;
  if (given.length > 1) return 'must be given only once';
  if (apiKey === '') {
    return headers.authorization === undefined
      ? 'is required: send your API key in the header apiKey'
      : 'is required: send your API key in the header apiKey, not in Authorization';
  }
  if (/^(bearer|basic|apikey)\s/i.test(apiKey)) return 'must be the API key alone, without a word before it';
  if (environment === 'production' && apiKey.startsWith('svc_test_'))
    return 'is a test key, which works only in the sandbox; use a live key here, or the address of the sandbox';
  if (environment === 'sandbox' && apiKey.startsWith('svc_live_'))
    return 'is a live key, which works only in production; use a test key here, or the address of production';
  if (!form.test(apiKey))
    return 'does not have the form of an API key: svc_test_ or svc_live_ and 50 characters; copy all of it';
  return refusedKeyHint;
}
