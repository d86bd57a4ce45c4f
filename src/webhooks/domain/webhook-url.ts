import type { Environment } from './delivery.ts';

const maxLength = 2048;

/** The characters of RFC 3986. Lenient parsers silently change others, such as backslashes and tabs. */
const uriCharacters = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/;

/** Scheme (group 1), host (group 2) and port (RFC 3986, appendix B). */
const absoluteHttp = /^(https?):\/\/([^/?#@]*?)(?::[0-9]{1,5})?(?=[/?#]|$)/i;

/**
 * The problem of a text as the webhook_url of an order in the environment; undefined when it is valid. Core checks the
 * URLs of orders. This function checks the URL of a test event.
 */
export function webhookUrlIssue(text: string, environment: Environment): string | undefined {
  if (text === '') return 'is required';
  if (text.length > maxLength) return `must be at most ${maxLength} characters`;
  if (!/^https?:\/\//i.test(text)) return 'must be an absolute URL that starts with https:// or http://';
  if (!uriCharacters.test(text))
    return 'must contain only URL characters; percent-encode spaces, line breaks and all others';
  if (/^https?:\/\/[^/?#]*@/i.test(text)) return 'must not contain a user name or password';
  const [, scheme = '', host] = absoluteHttp.exec(text) ?? [];
  if (host === undefined || !isReadAsWritten(text, host))
    return 'must have a valid host, such as https://shop.example/path';
  if (environment === 'PRODUCTION' && scheme.toLowerCase() !== 'https')
    return 'must start with https:// in production';
  return undefined;
}

/** A label neither starts nor ends with a hyphen (RFC 1123). Some names in use contain underscores. */
const hostName = /^[A-Z0-9_](?:[A-Z0-9_-]*[A-Z0-9_])?(?:\.[A-Z0-9_](?:[A-Z0-9_-]*[A-Z0-9_])?)*\.?$/i;

/** False for hosts that the WHATWG parser changes, for example 0x7f.1 or 2130706433 to 127.0.0.1. */
const isReadAsWritten = (text: string, host: string): boolean =>
  URL.canParse(text) &&
  (host.startsWith('[') || (hostName.test(host) && new URL(text).hostname === host.toLowerCase()));
