import type { SpanAttributes } from './span.ts';

/** The server of a URL; nothing for a text that is no URL. The path and the query may contain secrets and phone numbers. */
export function serverAttributes(text: string): SpanAttributes {
  const url = URL.parse(text);
  if (url === null) return {};
  return {
    'server.address': url.hostname.replaceAll(/[[\]]/g, ''),
    'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
  };
}
