import session from '@fastify/session';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createStrangeSessionLimits } from './limit-strange-sessions.ts';
import { sessionHash } from './session-store.ts';
import type { createSessionStore } from './session-store.ts';

/** 32 random bytes in base64url. */
const idForm = /^[A-Za-z0-9_-]{43}$/;

/**
 * Sessions by a cookie with a random id. It is not signed, because the id has 256 random bits and core stores only its hash.
 * Over https the `__Host-` prefix prevents other hosts of the domain from setting a known id (RFC 6265bis, 4.1.3.2).
 */
export async function addSessions(
  app: FastifyInstance,
  options: {
    readonly store: ReturnType<typeof createSessionStore>;
    readonly isSecure: boolean;
    readonly randomBytes: (size: number) => Buffer;
  },
): Promise<void> {
  const cookieName = options.isSecure ? '__Host-gatehouse_session' : 'gatehouse_session';
  const givenTo = ({ cookies }: FastifyRequest): string | undefined => {
    const id = cookies[cookieName];
    return id !== undefined && idForm.test(id) ? id : undefined;
  };
  const limits = createStrangeSessionLimits((id) => Buffer.from(sessionHash(id)).toString('base64'));
  // Before the session is read, and after.
  app.addHook('onRequest', (request) => limits.requireTries(request, givenTo(request)));
  await app.register(session, {
    store: options.store,
    secret: {
      sign: (id) => id,
      unsign: (given) => ({ valid: idForm.test(given), renew: false, value: given }),
    },
    idGenerator: () => options.randomBytes(32).toString('base64url'),
    cookieName,
    cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure: options.isSecure },
    saveUninitialized: false,
    rolling: false,
  });
  app.addHook('onRequest', (request) => limits.record(request, givenTo(request)));
}
