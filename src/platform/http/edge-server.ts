import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../logger.ts';
import { closesBeforeBody, isBodyMissing } from './answer-before-body.ts';
import { removeForwardedPorts } from './client-address.ts';
import { httpProblemOf } from './http-problem.ts';
import type { MeasureRequests } from './http-metrics.ts';
import type { HttpProblem } from './http-problem.ts';
import { httpTimeoutsMs } from './http-timeouts.ts';
import { answerClientError, answerEveryRequest, limitRefusedRequests } from './raw-http.ts';
import type { RawReplyOptions } from './raw-http.ts';
import { usableRequestId } from './request-id.ts';
import { schemaCompilers } from './schema-compilers.ts';
import { traceRequests } from './trace-requests.ts';
import type { TracedFrom } from './trace-requests.ts';
import type { Tracing } from '../tracing/tracing.ts';

/** The settings that all our HTTP listeners share. */
export interface EdgeServerSettings {
  readonly logger: Logger;
  /** Addresses and networks of trusted balancers, whose X-Forwarded-For and -Proto are used. */
  readonly trustedProxies: readonly string[];
  readonly newRequestId: () => string;
  /** Measures every request. */
  readonly measureRequests?: MeasureRequests;
  /** Traces every request; undefined when tracing is off. */
  readonly tracing?: Tracing | undefined;
  /** The first hook that runs in the span of its request; `onRequest` by default. */
  readonly tracedFrom?: TracedFrom;
  /** Headers of answers to requests that reach no route; by default the standard ones. */
  readonly rawHeaders?: Readonly<Record<string, string>>;
  /** The HTML of the answer to a request with too large headers; JSON by default. */
  readonly tooLargePage?: string;
  /** The requests on one connection; unlimited by default. The connection is closed after the answer to the last one. */
  readonly maxRequestsPerConnection?: number;
}

const standardRawHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** A path without a route. */
const unreadablePath = '/.unreadable';

/**
 * The Fastify options of every HTTP listener. A path that Fastify cannot decode, or whose parameter is too long, gets the
 * listener's own 404. Fastify's error path for these has no hooks, cookies or decorators, so the request is rerouted to a
 * path that does not exist. `request.originalUrl` keeps the sent path.
 */
export function edgeServerOptions(settings: EdgeServerSettings) {
  const { logger, trustedProxies, newRequestId } = settings;
  const loggerInstance: FastifyBaseLogger = logger;
  const rawReplies = rawRepliesOf(settings);
  return {
    loggerInstance,
    schemaController: { compilersFactory: schemaCompilers },
    logController: new LogController({ disableRequestLogging: true }),
    // Each listener writes its own log line per request, with the request id. A child logger is not needed.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    genReqId: (request: IncomingMessage) => usableRequestId(request) ?? newRequestId(),
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    requestTimeout: httpTimeoutsMs.request,
    keepAliveTimeout: httpTimeoutsMs.keepAlive,
    connectionTimeout: httpTimeoutsMs.stalled,
    http: {
      ...closesBeforeBody,
      headersTimeout: httpTimeoutsMs.headers,
      connectionsCheckingInterval: httpTimeoutsMs.check,
      // `protectEdge` refuses requests without a Host header. Its answer has a body.
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
 * @param refuse makes this listener's error for a request that HTTP forbids, which is answered 400
 */
export function protectEdge(
  app: FastifyInstance,
  settings: Omit<EdgeServerSettings, 'trustedProxies'>,
  refuse: (problem: HttpProblem) => Error,
): void {
  answerEveryRequest(app.server, rawRepliesOf(settings), settings.maxRequestsPerConnection);
  settings.measureRequests?.(app);
  if (settings.tracing !== undefined)
    traceRequests(app, settings.tracing, settings.tracedFrom ?? 'onRequest');
  app.addHook('onRequest', (request, reply, done) => {
    removeForwardedPorts(request.raw.headers);
    const problem = httpProblemOf(request.raw);
    if (problem === undefined) {
      done();
      return;
    }
    // The following bytes on the connection may be misread as another request.
    reply.header('connection', 'close');
    done(refuse(problem));
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    // The head of a request is handled before the rest of the same read is parsed, which is mostly the whole body.
    if (isBodyMissing(request.raw)) setImmediate(done, null, payload);
    else done(null, payload);
  });
}

const rawRepliesOf = ({
  rawHeaders: headers = standardRawHeaders,
  tooLargePage,
  newRequestId,
  logger,
}: Omit<EdgeServerSettings, 'trustedProxies'>): RawReplyOptions => ({
  headers,
  tooLargePage,
  newRequestId,
  logger,
  logRefused: limitRefusedRequests(logger),
});
