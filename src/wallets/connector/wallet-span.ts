import { serverAttributes } from '../../platform/tracing/server-attributes.ts';
import { activeSpan, recordedTraceparent } from '../../platform/tracing/span.ts';
import type { Span } from '../../platform/tracing/span.ts';

interface Request {
  readonly method: string;
  readonly purpose: string;
  readonly url: URL;
}

type Reply =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'not_sent' | 'lost'; readonly why: string };

/** Begins the span of a request to a wallet. It has no attribute for the body, which may contain the payer's phone number. */
export const beginWalletSpan = ({ method, purpose, url }: Request): Span | undefined =>
  activeSpan()?.begin(`${method} ${purpose}`, {
    kind: 'client',
    attributes: {
      'http.request.method': method,
      ...serverAttributes(url.href),
      'gatehouse.wallet.purpose': purpose,
    },
  });

export function endWalletSpan(span: Span | undefined, reply: Reply): void {
  if (reply.kind !== 'answered') {
    span?.end(reply.why);
    return;
  }
  span?.set({ 'http.response.status_code': reply.status });
  span?.end(reply.status >= 400 ? String(reply.status) : undefined);
}

/** Adds the traceparent if the trace is recorded. Otherwise the wallet has no use for it. */
export function withTraceparent(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const traceparent = recordedTraceparent();
  return traceparent === '' ? headers : { ...headers, traceparent };
}
