/** The ids of a span and its trace (W3C Trace Context). */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string;
  /** Whether the trace is recorded. */
  readonly isSampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * The context of a `traceparent` header; undefined for a header that must be ignored (W3C Trace Context, section 3.2). Later
 * versions may append fields after a hyphen.
 */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || header.length < 55 || header.length > 512) return undefined;
  const [, version, traceId, spanId, flags, rest] = form.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The header of a context. It has no `tracestate`, because no process of ours reads other vendors' data. */
export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
