import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { equalSecrets } from '../equal-secrets.ts';
import type { ErrorAnswer } from '../payer-outcomes.ts';
import type { ApiUser, MtnCredentials, ProductName } from './credentials.ts';

/** An answer that ends a request. */
export class MtnError extends Error {
  override readonly name = 'MtnError';
  readonly answer: ErrorAnswer;

  constructor(status: number, body: object) {
    super(`answered ${status}`);
    this.answer = { status, body };
  }
}

export const mtnError = (status: number, code: string, message: string): MtnError =>
  new MtnError(status, { code, message });

const accessDenied = (message: string): MtnError => new MtnError(401, { statusCode: 401, message });

/** A token and the API user and product that it was issued for. */
export interface IssuedToken {
  readonly product: ProductName;
  readonly user: string;
  readonly expiresMs: number;
}

export const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

const header = (request: FastifyRequest, name: string): string => {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
};

/** MTN accepts only UUIDs of version 4 as X-Reference-Id. @throws MtnError */
export function readReferenceId(request: FastifyRequest): string {
  const id = header(request, 'x-reference-id');
  if (uuidV4.test(id)) return id.toLowerCase();
  throw mtnError(400, 'VALIDATION_ERROR', 'X-Reference-Id must be a UUID of version 4');
}

/** @throws MtnError for a key that is not that of the product */
export function requireSubscription(
  request: FastifyRequest,
  { subscriptionKeys }: MtnCredentials,
  products: readonly ProductName[],
): void {
  const given = header(request, 'ocp-apim-subscription-key');
  const isKnown = products.some((product) => {
    const key = subscriptionKeys[product];
    return key !== undefined && equalSecrets(given, key);
  });
  if (isKnown) return;
  throw accessDenied(
    given === ''
      ? 'Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API.'
      : 'Access denied due to invalid subscription key. Make sure to provide a valid key for an active subscription.',
  );
}

/** The API user of a Basic authorization. @throws MtnError */
export function requireUser(
  request: FastifyRequest,
  { users }: MtnCredentials,
): { readonly id: string; readonly user: ApiUser } {
  const basic = /^Basic ([A-Za-z0-9+/=_-]+)$/i.exec(header(request, 'authorization'))?.[1] ?? '';
  const [id = '', ...rest] = Buffer.from(basic, 'base64').toString().split(':');
  const user = users.get(id.toLowerCase());
  const isRight = user?.apiKey !== undefined && equalSecrets(rest.join(':'), user.apiKey);
  if (user === undefined || !isRight) throw new MtnError(401, { error: 'login_failed' });
  return { id: id.toLowerCase(), user };
}

/**
 * The API user of the access token of this product, after all checks of MTN's gateway.
 * @throws MtnError
 */
export function requireToken(
  request: FastifyRequest,
  credentials: MtnCredentials,
  product: ProductName,
  tokens: ReadonlyMap<string, IssuedToken>,
  now: Date,
): ApiUser | undefined {
  requireSubscription(request, credentials, [product]);
  const token = tokens.get(/^Bearer (\S+)$/i.exec(header(request, 'authorization'))?.[1] ?? '');
  if (token?.product !== product || token.expiresMs <= now.getTime()) {
    throw accessDenied('Unauthorized. Access token is missing, invalid or expired.');
  }
  const environment = header(request, 'x-target-environment');
  if (environment !== credentials.targetEnvironment) {
    throw mtnError(500, 'NOT_ALLOWED_TARGET_ENVIRONMENT', `Access to target environment is forbidden.`);
  }
  return credentials.users.get(token.user);
}

/** The URL for callbacks; undefined without the header. Its host must be the registered one, exactly. @throws MtnError */
export function readCallbackUrl(request: FastifyRequest, user: ApiUser | undefined): string | undefined {
  const given = request.headers['x-callback-url'];
  if (given === undefined) return undefined;
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw mtnError(400, 'VALIDATION_ERROR', 'X-Callback-Url must be a URL');
  }
  if (user?.callbackHost !== undefined && user.callbackHost !== url.hostname) {
    throw mtnError(
      500,
      'INVALID_CALLBACK_URL_HOST',
      'Callback URL with different host name to configured for API User',
    );
  }
  return url.href;
}

/**
 * The quirks of MTN's gateway: 411 without a length, a web page with status 200 for forms, and its own error bodies. Its JSON
 * has a content type without a space, which client libraries compare as text.
 */
export function imitateGateway(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'POST') return;
    const { headers } = request;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
      return reply
        .code(411)
        .type('text/html; charset=us-ascii')
        .send(
          '<HTML><HEAD><TITLE>Length Required</TITLE></HEAD><BODY><h2>Length Required</h2></BODY></HTML>',
        );
    }
    if (/^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')) {
      return reply
        .code(200)
        .type('text/html; charset=utf-8')
        .send(
          '<html><head><title>Request Rejected</title></head><body>The requested URL was rejected.</body></html>',
        );
    }
    return undefined;
  });
  app.addHook('onSend', async (_request, reply, payload) => {
    if (String(reply.getHeader('content-type')).startsWith('application/json')) {
      reply.header('content-type', 'application/json;charset=utf-8');
    }
    return payload;
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ statusCode: 404, message: 'Resource not found' }),
  );
  app.setErrorHandler((error: unknown, request, reply): FastifyReply => {
    if (error instanceof MtnError) return reply.code(error.answer.status).send(error.answer.body);
    const status = statusOf(error);
    if (status >= 500) request.log.error({ err: error }, 'the simulator could not answer a request');
    const code = status >= 500 ? 'INTERNAL_PROCESSING_ERROR' : 'VALIDATION_ERROR';
    return reply.code(status).send({ code, message: code });
  });
}

const statusOf = (error: unknown): number => {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : 500;
};

/** The body as JSON. @throws MtnError */
export function readBody(request: FastifyRequest): unknown {
  try {
    return JSON.parse(typeof request.body === 'string' ? request.body : '');
  } catch {
    throw mtnError(400, 'VALIDATION_ERROR', 'The body must be JSON');
  }
}
