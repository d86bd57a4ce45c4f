import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { traceRequests as traceAll } from '../../src/platform/http/trace-requests.ts';
import type { TracedFrom } from '../../src/platform/http/trace-requests.ts';
import type { Tracing } from '../../src/platform/tracing/tracing.ts';

type Hook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void;

/** Traces every request that does not have the header `x-traced: 0`. */
export function traceRequests(app: FastifyInstance, tracing: Tracing, from: TracedFrom): void {
  const switched = (hook: Hook): Hook => {
    return (request, reply, done) => {
      if (request.headers['x-traced'] === '0') done();
      else hook(request, reply, done);
    };
  };
  const addHook = (name: 'onRequest', hook: Hook) => app.addHook(name, switched(hook));
  traceAll(Object.assign(Object.create(app) as FastifyInstance, { addHook }), tracing, from);
}
