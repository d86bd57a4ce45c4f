import type { IncomingMessage } from 'node:http';
import { LogController } from 'fastify';
import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from '../logger.ts';
import { usableRequestId } from './request-id.ts';

/** What the servers that outsiders reach are set up with alike. */
export interface EdgeServerSettings {
  readonly logger: Logger;
  /** Addresses and networks whose X-Forwarded-For and -Proto are believed: balancers in front of this process. */
  readonly trustedProxies: readonly string[];
  readonly newRequestId: () => string;
}

const timeoutsMs = {
  /** For the request line and headers. */
  headers: 5_000,
  /** For the whole request to arrive. */
  request: 10_000,
  /** Longer than the 60 s after which common balancers drop an idle connection, so that they never use one we closed. */
  keepAlive: 65_000,
};

/** What Fastify is given for a server that outsiders reach. Lines about requests are the server's own to write. */
export function edgeServerOptions({ logger, trustedProxies, newRequestId }: EdgeServerSettings) {
  const loggerInstance: FastifyBaseLogger = logger;
  return {
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    // One line a request is written by us, with the request's id in it: no need for a child logger each.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    genReqId: (request: IncomingMessage) => usableRequestId(request) ?? newRequestId(),
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    requestTimeout: timeoutsMs.request,
    keepAliveTimeout: timeoutsMs.keepAlive,
    http: { headersTimeout: timeoutsMs.headers, connectionsCheckingInterval: 1_000 },
    return503OnClosing: false,
  };
}
