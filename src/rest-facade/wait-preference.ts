/** The longest wait for an order, in seconds. Common proxies allow 60 seconds without an answer. */
export const maxWaitSeconds = 30;

/**
 * One preference of RFC 7240: a name and, optionally, a value. Parameters after a semicolon have no meaning here. Only one part can match a
 * space, because two would try each way to share a long row of spaces.
 */
const preference = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(?:=\s*(?:(?:"([^"]*)"|([^\s;,"]+))\s*)?)?(?:;.*)?$/;

/**
 * The whole seconds of the preference `wait` in a Prefer header (RFC 7240, section 4.3), at most `maxWaitSeconds`. The first
 * `wait` counts. Undefined without a readable one, because a server ignores preferences that it cannot follow.
 */
export function waitSecondsOf(prefer: string | readonly string[] | undefined): number | undefined {
  if (prefer === undefined) return undefined;
  const text = typeof prefer === 'string' ? prefer : prefer.join(',');
  for (const [part] of text.matchAll(/(?:[^,"]|"[^"]*")+/g)) {
    const [, name = '', quoted, plain] = preference.exec(part) ?? [];
    if (name.toLowerCase() !== 'wait') continue;
    const seconds = quoted ?? plain ?? '';
    return /^[0-9]+$/.test(seconds) ? Math.min(Number(seconds), maxWaitSeconds) : undefined;
  }
  return undefined;
}
