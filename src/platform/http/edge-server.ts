import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../logger.ts';
import { httpProblemOf } from './http-problem.ts';
import type { HttpProblem } from './http-problem.ts';
import { httpTimeoutsMs } from './http-timeouts.ts';
import { answerClientError, answerEveryRequest } from './raw-http.ts';
import type { RawReplyOptions } from './raw-http.ts';
import { usableRequestId } from './request-id.ts';

/** The settings that every HTTP listener of ours shares. */
export interface EdgeServerSettings {
  readonly logger: Logger;
  /** Addresses and networks whose X-Forwarded-For and -Proto are believed: balancers in front of this process. */
  readonly trustedProxies: readonly string[];
  readonly newRequestId: () => string;
  /** Headers of answers to requests that reach no route; standard ones when left out. */
  readonly rawHeaders?: Readonly<Record<string, string>>;
}

const standardRawHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** No route has this path. */
const unreadablePath = '/.unreadable';

/**
 * The Fastify options of every HTTP listener. A path that Fastify cannot decode, or whose parameter is too long, is
 * answered by the listener's own 404: Fastify's error path for those has no hooks, cookies or decorators, so the request
 * is routed anew under a path that does not exist. `request.originalUrl` keeps what was sent.
 */
export function edgeServerOptions(settings: EdgeServerSettings) {
  const { logger, trustedProxies, newRequestId } = settings;
  const loggerInstance: FastifyBaseLogger = logger;
  const rawReplies = rawRepliesOf(settings);
  return {
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    // Each listener writes one line a request itself, with the request's id in it. A child logger is not needed.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    genReqId: (request: IncomingMessage) => usableRequestId(request) ?? newRequestId(),
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    requestTimeout: httpTimeoutsMs.request,
    keepAliveTimeout: httpTimeoutsMs.keepAlive,
    http: {
      headersTimeout: httpTimeoutsMs.headers,
      connectionsCheckingInterval: httpTimeoutsMs.check,
      // `protectEdge` refuses requests without a Host header, with a body.
      requireHostHeader: false,
    },
    return503OnClosing: false,
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) => {
      const { raw } = request;
      const originalUrl = raw.url ?? '';
      const query = originalUrl.indexOf('?');
      const url = unreadablePath + (query === -1 ? '' : originalUrl.slice(query));
      request.server.routing(Object.assign(raw, { url, originalUrl }), reply.raw);
    },
    clientErrorHandler: (error: Error, socket: Socket) => answerClientError(error, socket, rawReplies),
  };
}

/**
 * Completes a listener made with `edgeServerOptions`; call it before the routes are added.
 * @param refuse makes the listener's own error of a request that HTTP forbids; it is answered 400
 */
export function protectEdge(
  app: FastifyInstance,
  settings: Omit<EdgeServerSettings, 'trustedProxies'>,
  refuse: (problem: HttpProblem) => Error,
): void {
  answerEveryRequest(app.server, rawRepliesOf(settings));
  app.addHook('onRequest', (request, reply, done) => {
    const problem = httpProblemOf(request.raw);
    if (problem === undefined) {
      done();
      return;
    }
    // What follows on the connection may not be what its sender meant.
    reply.header('connection', 'close');
    done(refuse(problem));
  });
}

const rawRepliesOf = ({
  rawHeaders: headers = standardRawHeaders,
  newRequestId,
  logger,
}: Omit<EdgeServerSettings, 'trustedProxies'>): RawReplyOptions => ({ headers, newRequestId, logger });
