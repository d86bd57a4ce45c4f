import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { equalSecrets } from '../equal-secrets.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { Credentials } from './callbacks.ts';
import { refusedError } from './refusal.ts';

const header = (request: FastifyRequest, name: string): string => {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
};

/**
 * Accepts requests with the client's API key and, except for the heartbeat, a valid access token. X-Client-Id is optional, but a
 * wrong one is refused. Other requests are refused with authorisation/clientAuthorisationError, which names the wrong header.
 */
export function requireClient(
  app: FastifyInstance,
  { clients, tokens }: { clients: readonly Credentials[]; tokens: AccessTokens },
): void {
  const unauthorised = (name: string, problem: string) =>
    refusedError('authorisation', 'clientAuthorisationError', `${name} ${problem}`, { [name]: problem });
  app.addHook('onRequest', async (request, reply) => {
    const clientId = header(request, 'x-client-id');
    const named = clients.filter((client) => clientId === '' || equalSecrets(clientId, client.clientId));
    if (named.length === 0) throw unauthorised('X-Client-Id', 'is unknown');
    if (!named.some(({ apiKey }) => equalSecrets(header(request, 'x-api-key'), apiKey))) {
      throw unauthorised('X-API-Key', 'is missing or wrong');
    }
    if (request.routeOptions.url?.endsWith('/heartbeat') === true) return;
    const token = /^Bearer (\S+)$/i.exec(header(request, 'authorization'))?.[1];
    if (token === undefined || !tokens.isValid(token)) {
      void reply.header('www-authenticate', 'Bearer error="invalid_token"');
      throw unauthorised('Authorization', 'has no valid access token');
    }
  });
}

/** Parses JSON bodies, and refuses bodies that do not match their X-Content-Hash. Without the header, any body is accepted. */
export function readHashedJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const hash = header(request, 'x-content-hash');
    if (hash !== '' && hash.toLowerCase() !== createHash('sha256').update(body).digest('hex')) {
      const problem = 'is not the SHA-256 of the body in hexadecimal digits';
      done(
        refusedError('validation', 'formatError', `X-Content-Hash ${problem}`, { 'X-Content-Hash': problem }),
      );
      return;
    }
    void parseJson(request, body.toString(), done);
  });
}
