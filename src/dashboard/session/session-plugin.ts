import session from '@fastify/session';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { logFacts } from '../request-log.ts';
import type { UnknownSecretLimits } from './limit-unknown-secrets.ts';
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
    readonly unknownSecrets: UnknownSecretLimits;
    readonly isSecure: boolean;
    readonly randomBytes: (size: number) => Buffer;
  },
): Promise<void> {
  const cookieName = options.isSecure ? '__Host-gatehouse_session' : 'gatehouse_session';
  const givenTo = ({ cookies }: FastifyRequest): string | undefined => {
    const id = cookies[cookieName];
    return id !== undefined && idForm.test(id) ? id : undefined;
  };
  const { unknownSecrets } = options;
  app.addHook('onRequest', async (request) => {
    const secret = givenTo(request);
    if (secret === undefined) return;
    const refusal = await unknownSecrets.refusalOf(request, { kind: 'session', secret });
    if (refusal === undefined) return;
    // Without the cookie, the session would not end, although its user would believe so.
    if (request.routeOptions.url === '/sign-out') throw refusal;
    logFacts(request, { reason: refusal.reason });
    // The request is handled as one without the cookie, and the browser keeps the cookie. So a user whose session has ended can sign in,
    // whatever others in the network do.
    const { [cookieName]: _unread, ...others } = request.cookies;
    request.cookies = others;
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
  app.addHook('onSend', async (request, reply) => {
    const given = givenTo(request);
    // Null after the session was ended.
    const current = request.session as typeof request.session | null;
    const id = current?.sessionId;
    // The browser may have got a new id in another tab meanwhile. This header would replace it with the old one.
    if (given !== undefined && given === id)
      changeCookies(reply, (line) => (line.startsWith(`${cookieName}=`) ? undefined : line));
    // The plugin removes an unknown id without Secure. Browsers ignore that for a name with the prefix.
    else if (options.isSecure)
      changeCookies(reply, (line) =>
        line.startsWith(`${cookieName}=;`) && !line.includes('; Secure') ? `${line}; Secure` : line,
      );
    // The next request brings the new id, and does not count as unknown.
    if (id !== undefined && id !== given && current?.userId !== undefined)
      await unknownSecrets.record(request, { kind: 'session', secret: id }, true);
  });
  app.addHook('onRequest', async (request) => {
    const secret = givenTo(request);
    if (secret === undefined) return;
    await unknownSecrets.record(request, { kind: 'session', secret }, request.session.userId !== undefined);
  });
}

/** Changes the `Set-Cookie` headers of the answer. If `change` returns undefined, that cookie is not set. */
function changeCookies(reply: FastifyReply, change: (line: string) => string | undefined): void {
  const all = [reply.getHeader('set-cookie') ?? []].flat().map(String);
  const changed = all.flatMap((line) => change(line) ?? []);
  if (all.length === 0) return;
  reply.removeHeader('set-cookie');
  if (changed.length > 0) reply.header('set-cookie', changed);
}
