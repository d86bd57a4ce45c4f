import { spanKey } from '../../../platform/rpc/call-context.ts';
import type { CallContext } from '../../../platform/rpc/call-context.ts';
import { runInSpan, untilEnd } from '../../../platform/tracing/span.ts';
import { parseTraceparent } from '../../../platform/tracing/trace-context.ts';

type InOwnTrace<Request> = <Response>(request: Request, answer: () => Promise<Response>) => Promise<Response>;

/**
 * Answers each request of a batch in a span of the request's own trace, which refers to the span of the batch. A request whose
 * trace is not recorded is answered in no span: that of the batch belongs to the trace of another request.
 */
export function itemSpans<Request extends object>(
  context: CallContext,
  requests: readonly Request[],
  traceparents: readonly string[],
): InOwnTrace<Request> {
  const batch = context.values.get(spanKey);
  if (batch === undefined || traceparents.length === 0) return (_request, answer) => answer();
  const parents = new Map(
    requests.map((request, index) => [request, parseTraceparent(traceparents[index])] as const),
  );
  const name = `${context.service.typeName}/${context.method.name} item`;
  const links = batch.context.isSampled ? [batch.context] : [];
  return (request, answer) => {
    const parent = parents.get(request);
    return parent?.isSampled === true
      ? untilEnd(batch.begin(name, { parent, links }), answer)
      : runInSpan(undefined, answer);
  };
}
