import type { Environment } from './order.ts';
import { type Issue, requiredIssue } from './issue.ts';
import { type Result, err, ok } from './result.ts';

const maxLength = 2048;

/** The characters of RFC 3986. Lenient parsers silently correct others, such as backslashes and tabs. */
const uriCharacters = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/;

/** RFC 3986, appendix B, for the two schemes: group 1 is the scheme, group 2 the authority. */
const absoluteHttp = /^(https?):\/\/([^/?#]*)/i;

/** Host name or IP literal (group 1) and port; a label neither starts nor ends with a hyphen (RFC 1123). */
const hostAndPort =
  /^(\[[0-9A-F:.]+\]|[A-Z0-9_](?:[A-Z0-9_-]*[A-Z0-9_])?(?:\.[A-Z0-9_](?:[A-Z0-9_-]*[A-Z0-9_])?)*\.?)(?::[0-9]{1,5})?$/i;

export const HttpUrl = {
  /**
   * Reads an absolute URL and keeps it exactly as sent. Strict (RFC 3986) and lenient (WHATWG) parsers must read it alike.
   * Issue: empty, over 2048 characters, not an absolute http or https URL, characters that must be percent-encoded,
   * user name or password, a missing or invalid host, or http in production.
   */
  parse(text: string, field: string, environment: Environment): Result<string, Issue> {
    const issue = issueOf(text, environment);
    return issue === null ? ok(text) : err({ field, issue });
  },
};

function issueOf(text: string, environment: Environment): string | null {
  if (text === '') return requiredIssue;
  if (text.length > maxLength) return `must be at most ${maxLength} characters`;
  const [, scheme, authority] = absoluteHttp.exec(text) ?? [];
  if (scheme === undefined || authority === undefined) {
    return 'must be an absolute URL that starts with https:// or http://';
  }
  if (!uriCharacters.test(text)) {
    return 'must contain only URL characters; percent-encode spaces, line breaks and all others';
  }
  if (authority.includes('@')) return 'must not contain a user name or password';
  if (!isReadAsWritten(text, authority)) return 'must have a valid host, such as https://shop.example/path';
  if (environment === 'PRODUCTION' && scheme.toLowerCase() !== 'https')
    return 'must start with https:// in production';
  return null;
}

/** False for hosts that the WHATWG parser converts, such as 0x7f.1 or 2130706433 to 127.0.0.1. */
function isReadAsWritten(text: string, authority: string): boolean {
  const host = hostAndPort.exec(authority)?.[1];
  const url = host === undefined ? null : URL.parse(text);
  return host !== undefined && url !== null && (host.startsWith('[') || url.hostname === host.toLowerCase());
}
