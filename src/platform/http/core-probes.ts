import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { FastifyInstance } from 'fastify';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/health/v1/health_pb.js';
import type { Health } from '../../gen/health/v1/health_pb.js';
import { expectedRoleHeader } from '../expected-role.ts';
import { limitFailures } from '../line-limit.ts';
import type { Logger } from '../logger.ts';

/** The facts that the probes of a process in front of the cores report. */
export interface ProbeOptions {
  readonly health: Client<typeof Health>;
  /** The role that core must give this process, because it refuses the calls of another one. */
  readonly role: string;
  readonly isDraining: () => boolean;
  readonly logger: Logger;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

const healthDeadlineMs = 1_500;
const maxChecks = 3;
/** Probes need no token, so their answer is cached to limit the calls to core. */
const answerHoldsForMs = 500;

const coreNotReady = 'Core is not ready';
const coreRefuses = 'Core refuses the service token or the certificate of this process';

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
  description: 'Answers even if core does not. Restart a process that does not answer.',
  response: { 200: healthy('ok', 'The process runs.') },
};
const ready = {
  operationId: 'getReadiness',
  summary: 'Can the process serve requests?',
  description: 'Send requests only to processes that answer 200.',
  response: {
    200: healthy('ready', 'The process can serve requests.'),
    503: answerOf(
      'The process shuts down, or core is not ready: send requests to another process.',
      { code: { type: 'integer' }, message: { type: 'string' } },
      { code: 503, message: coreNotReady },
    ),
  },
};

/** GET /healthz: this process runs. GET /readyz: it can serve requests, or 503 if it must not get any. */
export function addProbes(app: FastifyInstance, options: ProbeOptions): void {
  const { isDraining, logger, nowMs } = options;
  const logRefused = limitFailures((error) => logger.warn({ err: error }, `not ready: ${coreRefuses}`));
  let last: { atMs: number; problem: Promise<string | undefined> } | undefined;
  const problemOfCore = (): Promise<string | undefined> => {
    const atMs = nowMs();
    if (last === undefined || atMs - last.atMs >= answerHoldsForMs)
      last = { atMs, problem: askCore(options, logRefused) };
    return last.problem;
  };
  app.get('/healthz', { schema: { ...probe, ...alive } }, () => ({ status: 'ok' }));
  app.get('/readyz', { schema: { ...probe, ...ready } }, async (_request, reply) => {
    if (isDraining()) return reply.code(503).send({ code: 503, message: 'Shutting down' });
    const message = await problemOfCore();
    if (message !== undefined) return reply.code(503).send({ code: 503, message });
    return { status: 'ready' };
  });
}

/**
 * Asks the next core at each call. So this process is ready as long as one core is ready.
 * @returns why this process cannot serve requests, undefined if it can
 */
async function askCore(
  { health, role }: ProbeOptions,
  logRefused: (error: unknown) => void,
): Promise<string | undefined> {
  for (let checks = 0; checks < maxChecks; checks += 1) {
    try {
      const asked = { timeoutMs: healthDeadlineMs, headers: { [expectedRoleHeader]: role } };
      const { status } = await health.check({ service: '' }, asked);
      if (status === ServingStatus.SERVING) return undefined;
    } catch (error) {
      if ([Code.Unauthenticated, Code.PermissionDenied].includes(ConnectError.from(error).code)) {
        logRefused(error);
        return coreRefuses;
      }
      // No core answers. The transport has already retried the call.
      return coreNotReady;
    }
  }
  return coreNotReady;
}
