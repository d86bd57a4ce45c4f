import type {} from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** 32 random bytes in base64url. */
const secretForm = /^[A-Za-z0-9_-]{43}$/;

/** The secret by which core distinguishes browsers. Scripts and other hosts cannot read it. */
export interface BrowserSecrets {
  /** The secret of the requesting browser; '' when it has none. */
  readonly of: (request: FastifyRequest) => string;
  /** The secret of the requesting browser, or a new one. The browser keeps it for `maxAgeSeconds` from now. */
  readonly ensure: (request: FastifyRequest, reply: FastifyReply) => string;
}

export interface BrowserSecretsOptions {
  /** The name of the cookie. */
  readonly name: string;
  /** How long a browser keeps the secret after its last use. */
  readonly maxAgeSeconds: number;
  /** Whether browsers reach the pages over https. */
  readonly secure: () => boolean;
  readonly randomBytes: (size: number) => Buffer;
}

/**
 * Over https, the `__Host-` prefix prevents other hosts of the domain from setting a secret that they know (RFC 6265bis,
 * section 4.1.3.2).
 */
export function createBrowserSecrets(options: BrowserSecretsOptions): BrowserSecrets {
  const { name, maxAgeSeconds, secure, randomBytes } = options;
  const cookieName = (): string => (secure() ? `__Host-${name}` : name);
  const secretOf = (request: FastifyRequest): string => {
    const kept = request.cookies[cookieName()];
    return kept !== undefined && secretForm.test(kept) ? kept : '';
  };
  return {
    of: secretOf,
    ensure: (request, reply) => {
      const secret = secretOf(request) || randomBytes(32).toString('base64url');
      // Also for a kept one, so that it does not expire while the browser still needs it.
      reply.setCookie(cookieName(), secret, {
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        secure: secure(),
        maxAge: maxAgeSeconds,
      });
      return secret;
    },
  };
}
