import type { FastifyReply, FastifyRequest } from 'fastify';

/** 32 random bytes in base64url. */
const secretForm = /^[A-Za-z0-9_-]{43}$/;

/** Longer than any payment session, which ends within 24 hours. */
const maxAgeSeconds = 2 * 24 * 60 * 60;

/** The secret by which core knows one browser from another. It never reaches a script, and never leaves this host. */
export interface BrowserSecrets {
  /** The secret of the browser that asks; '' when it has none. */
  readonly of: (request: FastifyRequest) => string;
  /** The secret of the browser that asks, made and given to it now when it has none. */
  readonly ensure: (request: FastifyRequest, reply: FastifyReply) => string;
}

/**
 * `secure`: whether customers reach the pages over https. The `__Host-` prefix then keeps other hosts of the domain from
 * planting a secret they know (RFC 6265bis, section 4.1.3.2).
 */
export function createBrowserSecrets(
  secure: () => boolean,
  randomBytes: (size: number) => Buffer,
): BrowserSecrets {
  const cookieName = (): string => (secure() ? '__Host-gatehouse_checkout' : 'gatehouse_checkout');
  const secretOf = (request: FastifyRequest): string => {
    const kept = request.cookies[cookieName()];
    return kept !== undefined && secretForm.test(kept) ? kept : '';
  };
  return {
    of: secretOf,
    ensure: (request, reply) => {
      const kept = secretOf(request);
      if (kept !== '') return kept;
      const secret = randomBytes(32).toString('base64url');
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
