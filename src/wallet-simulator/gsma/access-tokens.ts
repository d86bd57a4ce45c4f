import type { FastifyInstance } from 'fastify';
import { equalSecrets } from '../equal-secrets.ts';
import type { Credentials } from './callbacks.ts';

export interface AccessTokens {
  readonly issue: () => string;
  readonly isValid: (token: string) => boolean;
  /** Invalidates all tokens issued so far, like a restart of a wallet. */
  readonly expireAll: () => void;
}

export interface AccessTokenOptions {
  readonly lifetimeSeconds: number;
  readonly now: () => Date;
  readonly randomBytes: (count: number) => Buffer;
}

export function createAccessTokens({ lifetimeSeconds, now, randomBytes }: AccessTokenOptions): AccessTokens {
  const expiryMs = new Map<string, number>();
  const isValid = (token: string): boolean => (expiryMs.get(token) ?? 0) > now().getTime();
  return {
    issue: () => {
      for (const token of expiryMs.keys()) if (!isValid(token)) expiryMs.delete(token);
      const token = randomBytes(32).toString('base64url');
      expiryMs.set(token, now().getTime() + lifetimeSeconds * 1_000);
      return token;
    },
    isValid,
    expireAll: () => expiryMs.clear(),
  };
}

interface TokenRequest {
  readonly grantType: string | null;
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * POST /v1/oauth/accesstoken: the client credentials grant (RFC 6749, section 4.4). The client identifies itself by
 * HTTP Basic or in the form (section 2.3.1). Errors have OAuth's form (section 5.2), not the contract's error object.
 */
export function addTokenEndpoint(
  app: FastifyInstance,
  {
    clients,
    tokens,
    lifetimeSeconds,
  }: { clients: readonly Credentials[]; tokens: AccessTokens; lifetimeSeconds: number },
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.post<{ Body: string | undefined }>('/v1/oauth/accesstoken', async (request, reply) => {
    void reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
    if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')) {
      return reply.code(400).send(oauthError('invalid_request', 'The body must be a form'));
    }
    const asked = readTokenRequest(request.body ?? '', request.headers.authorization);
    const known = clients.some(
      ({ clientId, clientSecret }) =>
        equalSecrets(asked.clientId, clientId) && equalSecrets(asked.clientSecret, clientSecret),
    );
    if (!known) {
      void reply.header('www-authenticate', 'Basic realm="wallet"');
      return reply.code(401).send(oauthError('invalid_client', 'The client id or secret is wrong'));
    }
    if (asked.grantType === null) {
      return reply.code(400).send(oauthError('invalid_request', 'grant_type is required'));
    }
    if (asked.grantType !== 'client_credentials') {
      return reply
        .code(400)
        .send(oauthError('unsupported_grant_type', 'grant_type must be client_credentials'));
    }
    return { access_token: tokens.issue(), token_type: 'Bearer', expires_in: lifetimeSeconds };
  });
}

const oauthError = (error: string, description: string): object => ({
  error,
  error_description: description,
});

function readTokenRequest(body: string, authorization: string | undefined): TokenRequest {
  const form = new URLSearchParams(body);
  const grantType = form.get('grant_type');
  const basic = /^Basic ([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? '')?.[1];
  if (basic === undefined) {
    return {
      grantType,
      clientId: form.get('client_id') ?? '',
      clientSecret: form.get('client_secret') ?? '',
    };
  }
  const [clientId = '', ...secret] = Buffer.from(basic, 'base64').toString().split(':');
  return { grantType, clientId: formDecoded(clientId), clientSecret: formDecoded(secret.join(':')) };
}

/** Both parts are form-encoded before Basic encodes them (RFC 6749, section 2.3.1). */
const formDecoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};
