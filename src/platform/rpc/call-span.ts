import { runInSpan } from '../tracing/span.ts';
import type { SpanOptions } from '../tracing/span.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { callerKey, logFieldsKey, spanKey } from './call-context.ts';
import type { CallContext } from './call-context.ts';

/** Fields of a call's log line that are also attributes of its span: ids of ours, and counts. */
const sharedFields = [
  'merchant_id',
  'order_id',
  'payment_attempt_id',
  'refund_id',
  'stray_payment_id',
  'items',
  'failed_items',
  'reason',
];

const server: SpanOptions = { kind: 'server' };

/**
 * Runs the handler of a call in a span whose parent is the span of the caller. A call has no span if its caller has no service token or sends
 * no traceparent, as when a program asks for work.
 */
export function inCallSpan<Response>(
  context: CallContext,
  traceparent: string,
  { tracing }: { readonly tracing?: Tracing | undefined },
  handle: () => Response,
): Response {
  if (tracing === undefined || traceparent === '' || context.values.get(callerKey).role === 'anyone')
    return handle();
  const method = `${context.service.typeName}/${context.method.name}`;
  const span = tracing.follow(method, traceparent, server);
  if (span === undefined) return handle();
  if (span.context.isSampled)
    span.set({
      'rpc.system.name': context.protocolName === 'connect' ? 'connectrpc' : 'grpc',
      'rpc.method': method,
      'gatehouse.request_id': context.values.get(callerKey).requestId,
    });
  context.values.set(spanKey, span);
  return runInSpan(span, handle);
}

/** Ends the span of a call with its status code. `level` is that of its log line: a refusal is no error of the server. */
export function endCallSpan(context: CallContext, code: string, level: 'info' | 'warn' | 'error'): void {
  const span = context.values.get(spanKey);
  if (span?.context.isSampled !== true) return;
  const fields = context.values.get(logFieldsKey);
  const shared = sharedFields.flatMap((name) => {
    const value = fields[name];
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    return [[`gatehouse.${name}`, value] as const];
  });
  const attributes: Record<string, string | number> = Object.fromEntries(shared);
  span.set({ ...attributes, 'rpc.response.status_code': code.toUpperCase() });
  span.end(level === 'info' ? undefined : code);
}
