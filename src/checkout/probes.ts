import type { Client } from '@connectrpc/connect';
import type { FastifyInstance } from 'fastify';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../gen/health/v1/health_pb.js';
import type { Health } from '../gen/health/v1/health_pb.js';

export interface ProbeOptions {
  readonly health: Client<typeof Health>;
  readonly isDraining: () => boolean;
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs: () => number;
}

const healthDeadlineMs = 1_500;
/** Anybody may probe, so that many probes must not become many calls to core. */
const answerHoldsForMs = 500;

/** GET /healthz: this process runs. GET /readyz: it can serve pages; 503 when it should be sent no customers. */
export function addProbes(app: FastifyInstance, { health, isDraining, monotonicMs }: ProbeOptions): void {
  let last: { atMs: number; serving: Promise<boolean> } | undefined;
  const coreIsServing = (): Promise<boolean> => {
    const atMs = monotonicMs();
    if (last === undefined || atMs - last.atMs >= answerHoldsForMs) last = { atMs, serving: askCore(health) };
    return last.serving;
  };
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    if (isDraining()) return reply.code(503).send({ code: 503, message: 'Shutting down' });
    if (!(await coreIsServing()))
      return reply.code(503).send({ code: 503, message: 'Core is not reachable' });
    return { status: 'ready' };
  });
}

async function askCore(health: Client<typeof Health>): Promise<boolean> {
  try {
    const { status } = await health.check({ service: '' }, { timeoutMs: healthDeadlineMs });
    return status === ServingStatus.SERVING;
  } catch {
    // Whatever kept core from answering: it is not ready to.
    return false;
  }
}
