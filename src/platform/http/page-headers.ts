/** Nothing but what this process serves itself: no inline script or style, no other host, no frame around it. */
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

/** What a process's pages say of their own, beside what all pages say. */
export type OwnPageHeaders = Readonly<Record<'referrer-policy', string>> & Readonly<Record<string, string>>;

/**
 * Headers of every answer of a process that serves pages.
 * Strict-Transport-Security means something on https alone (RFC 6797, section 7.2).
 */
export function pageHeaders(own: OwnPageHeaders, isSecure: boolean): Readonly<Record<string, string>> {
  return { ...always, ...own, ...(isSecure ? { 'strict-transport-security': 'max-age=31536000' } : {}) };
}
