import session from '@fastify/session';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { StrangerLimits } from './limit-strangers.ts';
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
    readonly strangers: StrangerLimits;
    readonly isSecure: boolean;
    readonly randomBytes: (size: number) => Buffer;
  },
): Promise<void> {
  const cookieName = options.isSecure ? '__Host-gatehouse_session' : 'gatehouse_session';
  const givenTo = ({ cookies }: FastifyRequest): string | undefined => {
    const id = cookies[cookieName];
    return id !== undefined && idForm.test(id) ? id : undefined;
  };
  const { strangers } = options;
  // Before the session is read, and after.
  app.addHook('onRequest', async (request) => {
    const secret = givenTo(request);
    if (secret !== undefined) await strangers.requireTries(request, { kind: 'session', secret });
  });
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
  // Another tab may have got a new id meanwhile, which the old one would replace. A browser keeps its id without this header.
  app.addHook('onSend', (request, reply, _payload, done) => {
    const given = givenTo(request);
    // Null after the session was ended.
    const id = (request.session as typeof request.session | null)?.sessionId;
    if (given !== undefined && given === id) dropCookie(reply, cookieName);
    done();
  });
  app.addHook('onRequest', async (request) => {
    const secret = givenTo(request);
    if (secret === undefined) return;
    await strangers.record(request, { kind: 'session', secret }, request.session.userId !== undefined);
  });
}

/** Removes a cookie that the answer would set. */
function dropCookie(reply: FastifyReply, name: string): void {
  const all = [reply.getHeader('set-cookie') ?? []].flat().map(String);
  const others = all.filter((line) => !line.startsWith(`${name}=`));
  if (others.length === all.length) return;
  reply.removeHeader('set-cookie');
  if (others.length > 0) reply.header('set-cookie', others);
}
