import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { runInSpan } from '../tracing/span.ts';
import type { Span, SpanOptions } from '../tracing/span.ts';
import type { Tracing } from '../tracing/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of the request, for its log line. Outside of its handlers, no span is active. Null or undefined without a trace. */
    span?: Span | null;
  }
}

export const spanOf = ({ span }: FastifyRequest): Span | undefined => span ?? undefined;

const server: SpanOptions = { kind: 'server' };

/** Orchestrators call them every few seconds. */
const probes = new Set(['/healthz', '/readyz']);

/** The first hook that runs in the span of its request. */
export type TracedFrom = 'onRequest' | 'preValidation';

/**
 * Runs every request of a listener, except probes, in a span if it has a trace. The span's name has the route of the program, never a
 * path of clients. Neither its address nor its headers nor its query become attributes, because they may contain personal data and
 * secrets. With `preValidation`, the hooks before the body run outside of the span. To make the span active twice would cost 1 % of a
 * request that is answered from memory.
 */
export function traceRequests(app: FastifyInstance, tracing: Tracing, from: TracedFrom): void {
  app.decorateRequest('span', null);
  app.addHook('onRequest', (request, reply, done) => {
    const { method } = request;
    const route = request.routeOptions.url;
    if (route !== undefined && probes.has(route)) {
      done();
      return;
    }
    const { traceparent } = request.headers;
    const span = tracing.beginAtEdge(
      route === undefined ? method : `${method} ${route}`,
      typeof traceparent === 'string' ? traceparent : undefined,
      server,
    );
    if (span === undefined) {
      done();
      return;
    }
    request.span = span;
    if (span.context.isSampled) recordRequest(span, request, reply.raw);
    if (from === 'onRequest') runInSpan(span, done);
    else done();
  });
  // The body arrives in events of the connection, outside of the span.
  app.addHook('preValidation', (request, _reply, done) => {
    runInSpan(spanOf(request), done);
  });
}

/** Describes a request in its span, and ends the span with the answer. */
function recordRequest(span: Span, request: FastifyRequest, response: ServerResponse): void {
  span.set({
    'http.request.method': request.method,
    'http.route': request.routeOptions.url,
    'url.scheme': request.protocol,
    'gatehouse.request_id': request.id,
  });
  response.once('close', () => {
    if (!response.writableFinished) {
      span.end('client_disconnected');
      return;
    }
    const status = response.statusCode;
    span.set({ 'http.response.status_code': status });
    span.end(status >= 500 ? String(status) : undefined);
  });
}
