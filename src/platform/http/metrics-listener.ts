import fastify from 'fastify';
import type { Logger } from '../logger.ts';
import { bytesOfPage } from '../metrics.ts';
import type { Metrics } from '../metrics.ts';
import { edgeServerOptions, protectEdge } from './edge-server.ts';

export interface MetricsListenerOptions {
  readonly metrics: Pick<Metrics, 'page'>;
  readonly host: string;
  /** Undefined for no listener. */
  readonly port: number | undefined;
  readonly logger: Logger;
  readonly newRequestId: () => string;
}

/** The listener of `GET /metrics`, apart from those for merchants and customers. */
export interface MetricsListener {
  /** Its URL; undefined without a port. */
  readonly url: string | undefined;
  readonly close: () => Promise<void>;
}

/** Starts the listener of a process that has no other port for operators. @throws when the port cannot be used */
export async function startMetricsListener(options: MetricsListenerOptions): Promise<MetricsListener> {
  const { metrics, host, port, logger, newRequestId } = options;
  if (port === undefined) return { url: undefined, close: () => Promise.resolve() };
  const edge = { logger, newRequestId, trustedProxies: [] };
  const app = fastify({ ...edgeServerOptions(edge), forceCloseConnections: true });
  protectEdge(app, edge, ({ field, issue }) =>
    Object.assign(new Error(`${field} ${issue}`), { statusCode: 400 }),
  );
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).type('text/plain').send('This port serves only GET /metrics.\n'),
  );
  app.setErrorHandler((error, request, reply) => {
    const { status, message } = problemOf(error);
    if (status >= 500)
      logger.error({ err: error, request_id: request.id }, 'the metrics could not be served');
    return reply.code(status).type('text/plain').send(`${message}\n`);
  });
  app.get('/metrics', async (request, reply) => {
    const page = await metrics.page(request.headers.accept);
    return reply.type(page.contentType).send(bytesOfPage(page));
  });
  await app.listen({ host, port });
  return { url: `${app.listeningOrigin}/metrics`, close: () => app.close() };
}

/** The answer to a request that failed. Only the message of a mistake in the request is for the client. */
function problemOf(error: unknown): { readonly status: number; readonly message: string } {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return error instanceof Error && typeof status === 'number' && status >= 400 && status < 500
    ? { status, message: error.message }
    : { status: 500, message: 'Internal server error' };
}
