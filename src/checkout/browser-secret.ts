import type { FastifyReply, FastifyRequest } from 'fastify';

/** 32 random bytes in base64url. */
const secretForm = /^[A-Za-z0-9_-]{43}$/;

/** Longer than any payment session, which ends within 24 hours. */
const maxAgeSeconds = 2 * 24 * 60 * 60;

/** The secret by which core distinguishes browsers. Scripts and other hosts cannot read it. */
export interface BrowserSecrets {
  /** The secret of the requesting browser; '' when it has none. */
  readonly of: (request: FastifyRequest) => string;
  /** The secret of the requesting browser. If it has none, a new one is created and set. */
  readonly ensure: (request: FastifyRequest, reply: FastifyReply) => string;
}

/**
 * `secure`: whether customers reach the pages over https. The `__Host-` prefix then prevents other hosts of the domain from
 * setting a secret that they know (RFC 6265bis, section 4.1.3.2).
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
