/** Allows only resources of this process: no inline scripts or styles, no other hosts, and no frames. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const always = {
  'cache-control': 'no-store',
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow',
};

/** The headers of one process's pages, in addition to the headers of all pages. */
export type OwnPageHeaders = Readonly<Record<'referrer-policy', string>> & Readonly<Record<string, string>>;

/**
 * Headers of every answer of a process that serves pages.
 * Strict-Transport-Security is only valid over https (RFC 6797, section 7.2).
 */
export function pageHeaders(own: OwnPageHeaders, isSecure: boolean): Readonly<Record<string, string>> {
  return { ...always, ...own, ...(isSecure ? { 'strict-transport-security': 'max-age=31536000' } : {}) };
}
