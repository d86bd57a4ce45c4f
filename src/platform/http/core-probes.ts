import type { Client } from '@connectrpc/connect';
import type { FastifyInstance } from 'fastify';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/health/v1/health_pb.js';
import type { Health } from '../../gen/health/v1/health_pb.js';

/** The facts that the probes of a process in front of the cores report. */
export interface ProbeOptions {
  readonly health: Client<typeof Health>;
  readonly isDraining: () => boolean;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

const healthDeadlineMs = 1_500;
const questions = 3;
/** Probes need no token, so their answer is cached to limit the calls to core. */
const answerHoldsForMs = 500;

/** The description of the probes in an OpenAPI document. The schemas are self-contained, because some listeners lack the merchants' schemas. */
const probe = { tags: ['Probes'], security: [] };
const answerOf = (description: string, properties: object, example: object) => ({
  description,
  content: {
    'application/json': {
      schema: { type: 'object', properties, required: Object.keys(properties) },
      example,
    },
  },
});
const healthy = (status: string, description: string) =>
  answerOf(description, { status: { type: 'string', const: status } }, { status });

const alive = {
  operationId: 'getHealth',
  summary: 'Is the process running?',
  response: { 200: healthy('ok', 'The process runs.') },
};
const ready = {
  operationId: 'getReadiness',
  summary: 'Can the process serve requests?',
  response: {
    200: healthy('ready', 'The process can serve requests.'),
    503: answerOf(
      'The process shuts down, or core is not ready: send requests to another process.',
      { code: { type: 'integer' }, message: { type: 'string' } },
      { code: 503, message: 'Core is not ready' },
    ),
  },
};

/** GET /healthz: this process runs. GET /readyz: it can serve requests, or 503 if it must not get any. */
export function addProbes(app: FastifyInstance, { health, isDraining, nowMs }: ProbeOptions): void {
  let last: { atMs: number; serving: Promise<boolean> } | undefined;
  const coreIsServing = (): Promise<boolean> => {
    const atMs = nowMs();
    if (last === undefined || atMs - last.atMs >= answerHoldsForMs) last = { atMs, serving: askCore(health) };
    return last.serving;
  };
  app.get('/healthz', { schema: { ...probe, ...alive } }, () => ({ status: 'ok' }));
  app.get('/readyz', { schema: { ...probe, ...ready } }, async (_request, reply) => {
    if (isDraining()) return reply.code(503).send({ code: 503, message: 'Shutting down' });
    if (!(await coreIsServing())) return reply.code(503).send({ code: 503, message: 'Core is not ready' });
    return { status: 'ready' };
  });
}

/** Asks the next core at each call. So this process is ready as long as one core is ready. */
async function askCore(health: Client<typeof Health>): Promise<boolean> {
  for (let question = 0; question < questions; question += 1) {
    try {
      const { status } = await health.check({ service: '' }, { timeoutMs: healthDeadlineMs });
      if (status === ServingStatus.SERVING) return true;
    } catch {
      // No core answers. The transport has already retried the call.
      return false;
    }
  }
  return false;
}
